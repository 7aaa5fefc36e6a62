"""This tool does exact arithmetic, since models sometimes calculate wrongly."""

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from backend.errors import ToolFailed
from backend.tools.base import EVERYONE, Result, tool
from backend.tools.fetch import refused

EXPRESSION_LIMIT = 200
"""The most characters of an expression."""
POWER_LIMIT = 64
"""The largest exponent; with `SIZE_LIMIT`, it keeps a small expression from becoming a long computation."""
SIZE_LIMIT = 10**30
Number = Fraction | float

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "sqrt": math.sqrt,
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
}


@tool(
    "calculate",
    "Computes an arithmetic expression exactly: numbers, + - * / // % **, parentheses, sqrt, abs, round, min, max.",
    guidance="Calculate: for any sum with more than one step, write the expression and call this, instead of "
    "calculating yourself.",
    clients=EVERYONE,
)
async def calculate(
    expression: Annotated[str, Field(min_length=1, max_length=EXPRESSION_LIMIT, description="E.g. '50 - 3 * 12'.")],
) -> Result:
    """Compute an expression. Raises `ToolFailed`, which says what cannot be computed."""
    return Result({"expression": expression, "value": shown(computed(expression))})


def computed(expression: str) -> Number:
    """Return the value of an expression. Raises `ToolFailed`."""
    try:
        tree = ast.parse(expression.strip().replace("×", "*").replace("÷", "/").replace("^", "**"), mode="eval")
        return _value(tree.body)
    except ZeroDivisionError:
        raise refused("That divides by zero.") from None
    except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        raise refused("That is no arithmetic expression this tool supports.") from None


def shown(value: Number) -> int | float:
    """Return the number for JSON: an integer if it is whole, otherwise rounded to ten significant digits."""
    whole = int(value)
    return whole if value == whole else float(f"{float(value):.10g}")


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError
        case ast.Constant(value=int() | float() as number):
            return _bounded(Fraction(str(number)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = _value(left), _value(right)
            if isinstance(op, ast.Pow) and abs(float(b)) > POWER_LIMIT:
                raise ValueError
            return _bounded(_BINARY[type(op)](a, b))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*(_value(argument) for argument in arguments)))
    raise ValueError


def _bounded(value: Number) -> Number:
    if isinstance(value, complex) or not math.isfinite(value) or abs(float(value)) > SIZE_LIMIT:
        raise ToolFailed("That is too large a number.")
    if isinstance(value, Fraction) and value.denominator > SIZE_LIMIT:
        return float(value)
    return Fraction(value) if isinstance(value, int) else value
