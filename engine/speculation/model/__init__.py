from engine.speculation.model.llama.build import check_build

check_build()  # before any module of this folder loads llama.cpp's library
