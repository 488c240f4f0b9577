"""Other programs on this machine ask the model in use: OpenAI's interface, and Anthropic's for messages.

The only folder that knows Starlette, uvicorn and sse-starlette; they are imported when the server is started.
"""
