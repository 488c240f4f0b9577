"""A chat template as a program: jinja2 parses it, and what it then does is done here, step by step within a budget.

jinja2 itself compiles templates to Python, whose steps cannot be counted: one of them may take minutes, or gigabytes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from typing import Any

from jinja2 import TemplateError, Undefined, nodes
from jinja2.runtime import LoopContext

from engine.sentences import say
from engine.target.template_filters import Filters
from engine.target.template_syntax import cost_of, parsed
from engine.target.template_values import COMPARISONS, Budget, Callee, Namespace, calculated

Names = dict[str, Any]
Expression = Callable[[Names], Any]
Statement = Callable[[Names, list[str]], "_Exit | None"]


class _Exit(Enum):
    """How a loop's body ends before its end."""

    BREAK = auto()
    CONTINUE = auto()


class Program:
    """Used by one thread at a time."""

    def __init__(self, source: str) -> None:
        """Raises TemplateError, RecursionError or ValueError."""
        self._values = Filters()
        self._body = self._statements(parsed(source).body)

    def run(self, names: Mapping[str, Any], budget: Budget) -> str:
        """What the template writes. Raises whatever Python can raise."""
        self._values.budget = budget
        return self._written(self._body, {**self._values.functions, **names})

    # Statements

    def _statements(self, body: Sequence[nodes.Node]) -> Statement:
        """One for all of them. They take from the budget together, before any is carried out."""
        steps = [self._statement(node) for node in body]
        cost = sum(cost_of(node) for node in body)

        def run(names: Names, out: list[str]) -> _Exit | None:
            self._values.budget.take(cost)
            for step in steps:
                ended = step(names, out)
                if ended is not None:
                    return ended
            return None

        return run

    def _statement(self, node: nodes.Node) -> Statement:
        make = _STATEMENTS.get(type(node))
        if make is None:
            raise _no_use(node)
        return make(self, node)

    def _written(self, body: Statement, names: Names) -> str:
        out: list[str] = []
        body(names, out)
        return self._values.concatenated(out)

    def _inner(self, names: Names) -> Names:
        """What is set in an inner block is forgotten at its end."""
        self._values.budget.take(len(names))
        return names.copy()

    def _output(self, node: nodes.Output) -> Statement:
        parts = [self._expression(each) for each in node.nodes]
        values = self._values

        def run(names: Names, out: list[str]) -> None:
            for each in parts:
                text = values.text_of(each(names))
                values.budget.take(len(text))
                out.append(text)

        return run

    def _if(self, node: nodes.If) -> Statement:
        branches = [(self._expression(each.test), self._statements(each.body)) for each in (node, *node.elif_)]
        otherwise = self._statements(node.else_)

        def run(names: Names, out: list[str]) -> _Exit | None:
            for test, body in branches:
                if test(names):
                    return body(names, out)
            return otherwise(names, out)

        return run

    def _for(self, node: nodes.For) -> Statement:
        if node.recursive:
            raise TemplateError(say("it uses a recursive loop, which chat templates have no use for"))
        items, assign, body = self._expression(node.iter), self._target(node.target), self._statements(node.body)
        test = None if node.test is None else self._expression(node.test)
        otherwise = self._statements(node.else_)
        values = self._values

        def wanted(names: Names, each: Any) -> bool:
            inner = self._inner(names)
            assign(inner, each)
            assert test is not None
            return bool(test(inner))

        def run(names: Names, out: list[str]) -> _Exit | None:
            found: Iterable[Any] = values.items_of(items(names))
            if test is not None:
                found = [each for each in found if wanted(names, each)]
            loop: LoopContext | None = None
            for each, loop in LoopContext(found, Undefined):
                inner = self._inner(names)
                inner["loop"] = loop
                assign(inner, each)
                if body(inner, out) is _Exit.BREAK:
                    break
            return otherwise(names, out) if loop is None else None

        return run

    def _assign(self, node: nodes.Assign) -> Statement:
        assign, value = self._target(node.target), self._expression(node.node)

        def run(names: Names, _out: list[str]) -> None:
            assign(names, value(names))

        return run

    def _assign_block(self, node: nodes.AssignBlock) -> Statement:
        assign, body = self._target(node.target), self._statements(node.body)
        change = self._changes(node.filter)

        def run(names: Names, _out: list[str]) -> None:
            assign(names, change(names, self._written(body, self._inner(names))))

        return run

    def _filter_block(self, node: nodes.FilterBlock) -> Statement:
        body, change = self._statements(node.body), self._changes(node.filter)

        def run(names: Names, out: list[str]) -> None:
            out.append(self._values.text_of(change(names, self._written(body, self._inner(names)))))

        return run

    def _with(self, node: nodes.With) -> Statement:
        pairs = [
            (self._target(target), self._expression(value))
            for target, value in zip(node.targets, node.values, strict=True)
        ]
        body = self._statements(node.body)

        def run(names: Names, out: list[str]) -> _Exit | None:
            inner = self._inner(names)
            for assign, value in pairs:
                assign(inner, value(names))
            return body(inner, out)

        return run

    def _scope(self, node: nodes.Scope) -> Statement:
        body = self._statements(node.body)
        return lambda names, out: body(self._inner(names), out)

    def _autoescape(self, node: nodes.ScopedEvalContextModifier) -> Statement:
        if any(not isinstance(each.value, nodes.Const) or each.value.value for each in node.options):
            raise TemplateError(say("it escapes text for HTML"))
        return self._statements(node.body)

    def _macro(self, node: nodes.Macro) -> Statement:
        make = self._callee(node)

        def run(names: Names, _out: list[str]) -> None:
            names[node.name] = make(names)

        return run

    def _call_block(self, node: nodes.CallBlock) -> Statement:
        call, make = self._call(node.call), self._callee(node)

        def run(names: Names, out: list[str]) -> None:
            out.append(self._values.text_of(call(names, {"caller": make(names)})))

        return run

    def _callee(self, node: nodes.Macro | nodes.CallBlock) -> Callable[[Names], Callee]:
        parameters = [each.name for each in node.args]
        defaults = [self._expression(each) for each in node.defaults]
        first_default = len(parameters) - len(defaults)
        body = self._statements(node.body)

        def make(names: Names) -> Callee:
            def call(*arguments: Any, **named: Any) -> str:
                inner = self._inner(names)
                inner["varargs"], inner["caller"] = arguments[len(parameters) :], named.pop("caller", Undefined())
                for place, name in enumerate(parameters):
                    if place < len(arguments):
                        inner[name] = arguments[place]
                    elif name in named:
                        inner[name] = named.pop(name)
                    elif place >= first_default:
                        inner[name] = defaults[place - first_default](inner)
                    else:
                        inner[name] = Undefined(say("parameter “{name}” was not provided", name=name))
                inner["kwargs"] = named
                return self._written(body, inner)

            return Callee(call)

        return make

    def _target(self, node: nodes.Node) -> Callable[[Names, Any], None]:
        if isinstance(node, nodes.Name):
            name = node.name
            return lambda names, value: names.__setitem__(name, value)
        if isinstance(node, nodes.NSRef):
            place, attribute = node.name, node.attr

            def assign(names: Names, value: Any) -> None:
                space = names.get(place)
                if not isinstance(space, Namespace):
                    raise TemplateError(say("it sets an attribute of what is no namespace"))
                self._values.budget.take(len(attribute))
                space.values[attribute] = value

            return assign
        assert isinstance(node, nodes.Tuple)
        targets = [self._target(each) for each in node.items]

        def assign_all(names: Names, value: Any) -> None:
            for target, each in zip(targets, self._values.list_of(value), strict=True):
                target(names, each)

        return assign_all

    # Expressions

    def _expression(self, node: nodes.Node) -> Expression:
        make = _EXPRESSIONS.get(type(node))
        if make is not None:
            return make(self, node)
        if isinstance(node, nodes.BinExpr):
            left, right = self._expression(node.left), self._expression(node.right)
            operation = self._values.operations[node.operator]
            return lambda names: operation(left(names), right(names))
        raise _no_use(node)

    def _name(self, node: nodes.Name) -> Expression:
        name = node.name

        def value(names: Names) -> Any:
            return names[name] if name in names else Undefined(name=name)

        return value

    def _constant(self, node: nodes.Const) -> Expression:
        value = node.value
        return lambda _names: value

    def _data(self, node: nodes.TemplateData) -> Expression:
        value = node.data
        return lambda _names: value

    def _list(self, node: nodes.List) -> Expression:
        items = [self._expression(each) for each in node.items]
        return lambda names: [each(names) for each in items]

    def _tuple(self, node: nodes.Tuple) -> Expression:
        items = [self._expression(each) for each in node.items]
        return lambda names: tuple([each(names) for each in items])

    def _dict(self, node: nodes.Dict) -> Expression:
        pairs = [(self._expression(pair.key), self._expression(pair.value)) for pair in node.items]
        return lambda names: {self._values.key(key(names)): value(names) for key, value in pairs}

    def _condition(self, node: nodes.CondExpr) -> Expression:
        test, one = self._expression(node.test), self._expression(node.expr1)
        other = (lambda _names: Undefined()) if node.expr2 is None else self._expression(node.expr2)
        return lambda names: one(names) if test(names) else other(names)

    def _and(self, node: nodes.And) -> Expression:
        left, right = self._expression(node.left), self._expression(node.right)
        return lambda names: left(names) and right(names)

    def _or(self, node: nodes.Or) -> Expression:
        left, right = self._expression(node.left), self._expression(node.right)
        return lambda names: left(names) or right(names)

    def _not(self, node: nodes.Not) -> Expression:
        value = self._expression(node.node)
        return lambda names: not value(names)

    def _negative(self, node: nodes.Neg) -> Expression:
        value, subtract = self._expression(node.node), self._values.operations["-"]
        return lambda names: subtract(0, value(names))

    def _positive(self, node: nodes.Pos) -> Expression:
        value = self._expression(node.node)
        return lambda names: calculated(operator.add, 0, value(names))

    def _concat(self, node: nodes.Concat) -> Expression:
        parts = [self._expression(each) for each in node.nodes]
        values = self._values
        return lambda names: values.concatenated([values.text_of(each(names)) for each in parts])

    def _compare(self, node: nodes.Compare) -> Expression:
        first = self._expression(node.expr)
        rest = [(self._comparison(each.op), self._expression(each.expr)) for each in node.ops]

        def compare(names: Names) -> Any:
            left, result = first(names), True
            for compared, expression in rest:
                right = expression(names)
                result = compared(left, right)
                if not result:
                    break
                left = right
            return result

        return compare

    def _comparison(self, sign: str) -> Callable[[Any, Any], Any]:
        values = self._values
        if sign in ("in", "notin"):
            return lambda left, right: values.contains(left, right) == (sign == "in")
        return partial(values.compare, COMPARISONS[sign])

    def _attribute(self, node: nodes.Getattr) -> Expression:
        value, name, attribute = self._expression(node.node), node.attr, self._values.attribute
        return lambda names: attribute(value(names), name)

    def _item(self, node: nodes.Getitem) -> Expression:
        value, values = self._expression(node.node), self._values
        if not isinstance(node.arg, nodes.Slice):
            key = self._expression(node.arg)
            return lambda names: values.item(value(names), key(names))
        start, stop, step = (
            (lambda _names: None) if each is None else self._expression(each)
            for each in (node.arg.start, node.arg.stop, node.arg.step)
        )
        return lambda names: values.slice(value(names), start(names), stop(names), step(names))

    def _filtered(self, node: nodes.Filter) -> Expression:
        assert node.node is not None
        value, change = self._expression(node.node), self._filter(node)
        return lambda names: change(names, value(names))

    def _filter(self, node: nodes.Filter) -> Callable[[Names, Any], Any]:
        arguments, named = self._arguments(node)
        name, values = node.name, self._values
        return lambda names, value: values.filter(name, value, arguments(names), named(names))

    def _changes(self, node: nodes.Expr | None) -> Callable[[Names, Any], Any]:
        """A block's filters, one after the other."""
        if not isinstance(node, nodes.Filter):
            return lambda _names, value: value
        before, change = self._changes(node.node), self._filter(node)
        return lambda names, value: change(names, before(names, value))

    def _test(self, node: nodes.Test) -> Expression:
        value, (arguments, _) = self._expression(node.node), self._arguments(node)
        name, values = node.name, self._values
        return lambda names: values.test(name, value(names), arguments(names))

    def _called(self, node: nodes.Call) -> Expression:
        call = self._call(node)
        return lambda names: call(names, {})

    def _call(self, node: nodes.Call) -> Callable[[Names, dict[str, Any]], Any]:
        callee, (arguments, named) = self._expression(node.node), self._arguments(node)
        values = self._values
        return lambda names, more: values.call(callee(names), arguments(names), {**named(names), **more})

    def _arguments(
        self, node: nodes.Call | nodes.Filter | nodes.Test
    ) -> tuple[Callable[[Names], list[Any]], Callable[[Names], dict[str, Any]]]:
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise TemplateError(say("it calls with “*”, which chat templates have no use for"))
        arguments = [self._expression(each) for each in node.args]
        named = {str(each.key): self._expression(each.value) for each in node.kwargs}
        return (
            lambda names: [each(names) for each in arguments],
            lambda names: {key: each(names) for key, each in named.items()},
        )


_STATEMENTS: dict[type[nodes.Node], Callable[[Program, Any], Statement]] = {
    nodes.Assign: Program._assign,
    nodes.AssignBlock: Program._assign_block,
    nodes.Break: lambda _program, _node: lambda _names, _out: _Exit.BREAK,
    nodes.CallBlock: Program._call_block,
    nodes.Continue: lambda _program, _node: lambda _names, _out: _Exit.CONTINUE,
    nodes.FilterBlock: Program._filter_block,
    nodes.For: Program._for,
    nodes.If: Program._if,
    nodes.Macro: Program._macro,
    nodes.Output: Program._output,
    nodes.Scope: Program._scope,
    nodes.ScopedEvalContextModifier: Program._autoescape,
    nodes.With: Program._with,
}
_EXPRESSIONS: dict[type[nodes.Node], Callable[[Program, Any], Expression]] = {
    nodes.And: Program._and,
    nodes.Call: Program._called,
    nodes.Compare: Program._compare,
    nodes.Concat: Program._concat,
    nodes.CondExpr: Program._condition,
    nodes.Const: Program._constant,
    nodes.Dict: Program._dict,
    nodes.Filter: Program._filtered,
    nodes.Getattr: Program._attribute,
    nodes.Getitem: Program._item,
    nodes.List: Program._list,
    nodes.Name: Program._name,
    nodes.Neg: Program._negative,
    nodes.Not: Program._not,
    nodes.Or: Program._or,
    nodes.Pos: Program._positive,
    nodes.TemplateData: Program._data,
    nodes.Test: Program._test,
    nodes.Tuple: Program._tuple,
}


def _no_use(node: nodes.Node) -> TemplateError:
    what = type(node).__name__.lower()
    return TemplateError(say("it uses “{what}”, which chat templates have no use for", what=what))
