"""Where slips can be planted in C++ sources, found in clang's tree, and the text that plants them."""

import re
from dataclasses import dataclass

from clang import cindex
from clang.cindex import CursorKind as Kind

RELATIONAL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGICAL = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+"}
OPERATORS = {**RELATIONAL, **LOGICAL, **ARITHMETIC}

FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.FUNCTION_TEMPLATE,
             Kind.LAMBDA_EXPR, Kind.CONVERSION_FUNCTION}
# What the compiler evaluates, or where a statement is no statement.
UNTOUCHED = {Kind.STATIC_ASSERT, Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.ENUM_CONSTANT_DECL, Kind.PARM_DECL}
STATEMENTS = {Kind.CALL_EXPR, Kind.COMPOUND_ASSIGNMENT_OPERATOR, Kind.UNARY_OPERATOR, Kind.BINARY_OPERATOR}


@dataclass(frozen=True)
class Site:
    file: str
    line: int
    begin: int  # offsets into the file's bytes
    end: int
    slip: str  # what kind
    before: str
    after: str
    text: str  # that replaces begin to end; NUMBER stands for the number of the slip

    def name(self):
        return f"{self.file}:{self.line}: {self.slip}: {one_line(self.before)} -> {one_line(self.after)}"

    def key(self):
        """The same wherever lines move."""
        return f"{self.file}: {self.slip}: {one_line(self.before)}"


def kind_of(cursor):
    """None: a kind that the bindings do not know."""
    try:
        return cursor.kind
    except ValueError:
        return None


def one_line(text):
    return re.sub(r"\s+", " ", text)[:90]


class Finder:
    def __init__(self, path, name, arguments):
        """Reads the file `path`, which sites call `name`, as a compiler with `arguments` would."""
        self.path, self.name = path, name
        with open(path, "rb") as file:
            self.bytes = file.read()
        index = cindex.Index.create()
        self.unit = index.parse(path, args=["-x", "c++", *arguments])
        self.sites = []

    def find(self):
        for cursor in self.unit.cursor.get_children():
            if cursor.location.file and cursor.location.file.name == self.path:
                self.walk(cursor, None, False)
        return self.sites

    def source(self, begin, end):
        return self.bytes[begin:end].decode()

    def text(self, cursor):
        return self.source(cursor.extent.start.offset, cursor.extent.end.offset)

    def add(self, cursor, slip, before, after, text, begin=None, end=None):
        begin = cursor.extent.start.offset if begin is None else begin
        end = cursor.extent.end.offset if end is None else end
        if re.search(r"#|\bassert\(", self.source(begin, end)):  # directives and macros within
            return
        self.sites.append(Site(self.name, cursor.location.line, begin, end, slip, before, after, text))

    def walk(self, cursor, parent, in_body):
        kind = kind_of(cursor)
        if kind in UNTOUCHED:
            return
        children = list(cursor.get_children())
        if kind in FUNCTIONS:
            body = [child for child in children if kind_of(child) == Kind.COMPOUND_STMT]
            if body and not self.starts_with(cursor, ("consteval",)):
                self.leave_early(cursor, body[-1])
                self.walk(body[-1], cursor, True)
            return
        if kind == Kind.CASE_STMT:
            children = children[1:]
        if kind == Kind.VAR_DECL and self.is_constant(cursor):
            return
        if in_body:
            self.visit(cursor, kind, children, parent)
        for child in children:
            if kind == Kind.IF_STMT and child == children[0] and "constexpr" in self.source(
                    cursor.extent.start.offset, child.extent.start.offset):
                continue
            self.walk(child, cursor, in_body)

    def starts_with(self, cursor, words):
        return any(word in self.text(cursor)[:120].split("(")[0].split() for word in words)

    def is_constant(self, cursor):
        declared = self.text(cursor).split("=")[0].split("{")[0]
        return bool(re.search(r"\bconst(expr|init)\b|\[", declared))

    def visit(self, cursor, kind, children, parent):
        if kind == Kind.BINARY_OPERATOR and len(children) == 2:
            self.change_operator(cursor, children)
        elif kind == Kind.CALL_EXPR:
            infix = re.fullmatch(r"operator([<>=!]=?|\+|-)", cursor.spelling or "")
            arguments = list(cursor.get_arguments())
            if infix and len(arguments) == 2:
                if "basic_string" not in cursor.type.get_canonical().spelling:  # which has no other operator
                    self.change_operator(cursor, arguments)
            elif not infix and cursor.spelling not in ("max", "min", "swap", "gcd", "hypot", "equal", "equivalent"):  # of either order
                self.swap_arguments(cursor, arguments)
        elif kind == Kind.INTEGER_LITERAL:
            self.change_constant(cursor)
        elif kind in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.CONDITIONAL_OPERATOR) and children:
            self.negate(cursor, children[0])
        elif kind == Kind.RETURN_STMT and children and children[0].type.spelling == "bool":
            self.negate(cursor, children[0], "negated result")
        if kind in STATEMENTS and parent is not None:
            self.drop(cursor, parent)

    def change_operator(self, cursor, operands):
        left, right = (self.text(operand) for operand in operands)
        begin, end = operands[0].extent.start.offset, operands[1].extent.end.offset
        operator = self.source(operands[0].extent.end.offset, operands[1].extent.start.offset).strip()
        other = OPERATORS.get(operator)
        if other is None or not left or not right or begin >= operands[1].extent.start.offset:
            return
        before = self.source(begin, end)
        after = f"{left} {other} {right}"
        slip = ("relation" if operator in RELATIONAL else "logic" if operator in LOGICAL else "arithmetic")
        self.add(cursor, slip, before, after, f"(twinlink_mutant(NUMBER) ? ({after}) : ({before}))", begin, end)

    def change_constant(self, cursor):
        literal = self.text(cursor)
        if re.fullmatch(r"[0-9]+[uUlLzZ]*", literal):
            self.add(cursor, "constant", literal, literal + " + 1",
                     f"(twinlink_mutant(NUMBER) ? {literal} + 1 : {literal})")

    def negate(self, cursor, condition, slip="negated condition"):
        text = self.text(condition)
        if kind_of(condition) in (Kind.VAR_DECL, Kind.DECL_STMT) or not text:
            return
        self.add(condition, slip, text, f"!({text})", f"(twinlink_mutant(NUMBER) != static_cast<bool>({text}))")

    def swap_arguments(self, cursor, arguments):
        for first, second in zip(arguments, arguments[1:]):
            one, two = self.text(first), self.text(second)
            begin, end = first.extent.start.offset, second.extent.end.offset
            between = self.source(first.extent.end.offset, second.extent.start.offset)
            if one == two or not one or not two or between.strip() != ",":
                continue
            if first.type.get_canonical().spelling != second.type.get_canonical().spelling:
                continue
            whole = self.text(cursor)
            start = cursor.extent.start.offset
            swapped = whole.encode()[:begin - start].decode() + two + ", " + one + whole.encode()[end - start:].decode()
            if whole.endswith(")"):
                self.add(cursor, "swapped arguments", whole, swapped,
                         f"(twinlink_mutant(NUMBER) ? {swapped} : {whole})")
                return

    def drop(self, cursor, parent):
        """A whole statement: within braces, or the only one of an if or a loop."""
        if kind_of(cursor) == Kind.UNARY_OPERATOR and not re.match(r"\+\+|--|.*(\+\+|--)$", self.text(cursor)):
            return
        if kind_of(cursor) == Kind.BINARY_OPERATOR and not re.search(r"[^=!<>]=[^=]", self.text(cursor)):
            return
        alone = {Kind.IF_STMT, Kind.FOR_STMT, Kind.WHILE_STMT, Kind.CXX_FOR_RANGE_STMT}
        if kind_of(parent) in alone:
            if list(parent.get_children())[0] == cursor or not self.ends_statement(cursor):
                return
        elif kind_of(parent) != Kind.COMPOUND_STMT or not self.ends_statement(cursor):
            return
        text = self.text(cursor)
        self.add(cursor, "dropped statement", text, "", f"if (!twinlink_mutant(NUMBER)) {text}")

    def ends_statement(self, cursor):
        return self.bytes[cursor.extent.end.offset:cursor.extent.end.offset + 40].lstrip()[:1] == b";"

    def leave_early(self, function, body):
        result = function.result_type.spelling if kind_of(function) != Kind.LAMBDA_EXPR else ""
        statements = list(body.get_children())
        if kind_of(function) in (Kind.CONSTRUCTOR, Kind.DESTRUCTOR) or result != "void" or not statements:
            return
        begin = body.extent.start.offset
        if self.source(begin, begin + 1) == "{":
            self.add(statements[0], "early return", function.spelling + "() does its work", "returns at once",
                     "{ if (twinlink_mutant(NUMBER)) return; ", begin, begin + 1)


def planted(source, chosen):
    """The bytes `source` with all sites of `chosen`, a list of (number, site) whose places do not overlap. Lines keep their
    numbers, but for what has comments or raw strings within."""
    for number, site in sorted(chosen, key=lambda one: -one[1].begin):
        text = site.text.replace("NUMBER", str(number)).encode()
        if b"//" not in text and b'R"' not in text:
            text = text.replace(b"\n", b" ") + b"\n" * source.count(b"\n", site.begin, site.end)
        source = source[:site.begin] + text + source[site.end:]
    return b'#include "tests/mutants/mutant.hpp"\n#line 1\n' + source


def lines_of(source, site):
    """The numbers of the lines of `source` that the site is on."""
    first = source.count(b"\n", 0, site.begin) + 1
    return set(range(first, first + source.count(b"\n", site.begin, site.end) + 1))
