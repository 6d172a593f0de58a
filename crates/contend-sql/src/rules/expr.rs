//! Expressions: literals, names, boolean and value contexts, arithmetic, CASE, CAST, subqueries.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal, Operator, Select, UnaryOperator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::types::{Affinity, Number, Strength, Ty, Val, number_in_text, number_literal};

/// The expression inside parentheses.
pub(crate) fn bare<'a, 'b>(mut expr: &'b Expr<'a>) -> &'b Expr<'a> {
    while let Expr::Parenthesized(inner) = expr
        && let [only] = &inner[..]
    {
        expr = only;
    }
    expr
}

/// The number, if the expression is a numeric literal with or without a sign.
pub(crate) fn literal_number(expr: &Expr) -> Option<Number> {
    signed_number(expr, 0)
}

/// At most a few signs are looked through, so that a long row of them does not fill the stack.
fn signed_number(expr: &Expr, signs: u8) -> Option<Number> {
    if signs > 8 {
        return None;
    }
    match bare(expr) {
        Expr::Literal(Literal::Numeric(text)) => number_literal(text),
        Expr::Unary(UnaryOperator::Positive, inner) => signed_number(inner, signs + 1),
        Expr::Unary(UnaryOperator::Negative, inner) => match bare(inner) {
            Expr::Literal(Literal::Numeric("9223372036854775808")) => Some(Number::Int(i64::MIN)),
            inner => match signed_number(inner, signs + 1)? {
                Number::Int(n) => n.checked_neg().map(Number::Int).or(Some(Number::Real(9223372036854775808.0))),
                Number::Real(n) => Some(Number::Real(-n)),
            },
        },
        _ => None,
    }
}

/// Most expressions written for a statement, beside four for each of its bytes. What is probed before it is written
/// counts twice, so that nesting of such expressions ends here.
const STEPS_MAX: usize = 50_000;
/// Longest translation, about as much as MariaDB takes by default.
const WRITTEN_MAX: usize = 16_000_000;
/// Longest statement whose expressions are compared with each other, as comparing is recursive.
pub(crate) const COMPARED_MAX: usize = 4_000;

impl<'a> Tr<'a> {
    /// Writes an expression. A parameter takes the type `want`; what else is written does not depend on it.
    pub(crate) fn expr(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        self.steps += 1;
        if self.steps > STEPS_MAX + 4 * self.text.len() {
            return no(Id::Depth, "", "an expression of too many nested parts that are written more than once");
        }
        let written = self.deeper(|tr| {
            if !tr.groups_by(expr) {
                return tr.expr_here(expr, want);
            }
            // It may have any columns in it.
            let here = tr.scopes.len() - 1;
            tr.scopes[here].checked = false;
            let value = tr.expr_here(expr, want);
            tr.scopes[here].checked = true;
            value
        });
        // Some functions are written with an operand twice, so that nesting of them doubles.
        if self.sql.len() > WRITTEN_MAX {
            return no(Id::Depth, "", format!("its translation has more than {WRITTEN_MAX} bytes"));
        }
        written.map_err(|no| no.within(expr))
    }

    /// Whether an expression is one that the innermost query groups by, in a part where that matters.
    pub(crate) fn groups_by(&self, expr: &'a Expr<'a>) -> bool {
        self.scopes
            .last()
            .is_some_and(|scope| scope.checked && self.text.len() <= COMPARED_MAX && scope.terms.contains(&expr))
    }

    fn expr_here(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        let value = self.written(expr, want)?;
        self.collated(expr, value)
    }

    fn written(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Id(id) => self.identifier(id.0),
            Expr::Name(name) => self.identifier(name.0),
            Expr::Qualified(table, column) => self.qualified(table.0, column.0),
            Expr::DoublyQualified(schema, ..) if !plain(schema.0).eq_ignore_ascii_case("main") => {
                no(Id::Schemas, schema.0, "only the schema `main` exists on the server")
            }
            Expr::DoublyQualified(_, table, column) => self.qualified(table.0, column.0),
            Expr::Variable(name) => self.placeholder(name, want),
            Expr::Parenthesized(inner) => match &inner[..] {
                [only] => {
                    let start = self.at();
                    let mut value = self.expr(only, want)?;
                    self.enclose(start, &mut value, Strength::Atom);
                    Ok(value)
                }
                _ => no(Id::RowValues, "", "a row value stands where one value is wanted"),
            },
            Expr::Binary(left, op, right) => self.binary(left, *op, right, want),
            Expr::Unary(op, inner) => self.unary(*op, inner, want),
            Expr::Between { lhs, not, start, end } => self.between(lhs, *not, start, end),
            Expr::Case { base, when_then_pairs, else_expr } => {
                self.case(*base, when_then_pairs.iter().map(|(when, then)| (when, then)), *else_expr, want)
            }
            Expr::Cast { expr, type_name } => self.cast(expr, type_name.as_ref()),
            Expr::Collate(inner, name) => {
                let mut value = self.expr(inner, Ty::Text)?;
                value.collation = crate::catalogue::collation(name)?;
                value.collation_explicit = true;
                self.fire(Id::Collation);
                Ok(value)
            }
            Expr::Exists(select) => {
                self.put("EXISTS (");
                self.subquery(select)?;
                self.put(")");
                Ok(Val::of(Ty::Bool).never_null())
            }
            Expr::Subquery(select) => self.scalar_subquery(select),
            Expr::FunctionCall { name, distinctness, args, order_by, filter_over } => self.call(
                name.0,
                *distinctness,
                args.unwrap_or_default(),
                order_by.as_ref(),
                filter_over.as_ref(),
                want,
            ),
            Expr::FunctionCallStar { name, filter_over } => self.call_star(name.0, filter_over.as_ref()),
            Expr::InList { lhs, not, rhs } => self.in_list(lhs, *not, rhs.unwrap_or_default()),
            Expr::InSelect { lhs, not, rhs } => self.in_select(lhs, *not, rhs),
            Expr::InTable { lhs, not, rhs, args } => self.in_table(lhs, *not, rhs, args.is_some()),
            Expr::IsNull(inner) => self.null_test(inner, " IS NULL"),
            Expr::NotNull(inner) => self.null_test(inner, " IS NOT NULL"),
            Expr::Like { lhs, not, op, rhs, escape } => self.like(lhs, *not, *op, rhs, *escape),
            Expr::Raise(..) => no(Id::Triggers, "RAISE", "RAISE is for triggers"),
        }
    }

    /// A query in the place of a value: its first row.
    fn scalar_subquery(&mut self, select: &'a Select<'a>) -> R<Val> {
        self.put("(");
        let columns = self.subquery(select)?;
        if select.limit.is_none() && !one_row(select) {
            self.fire(Id::FirstRow);
            self.put(" LIMIT 1");
        }
        self.put(")");
        match &columns[..] {
            [only] => {
                Ok(Val { affinity: only.affinity, bytewise: only.bytewise, wordy: only.wordy, ..Val::of(only.ty) })
            }
            _ => no(Id::RowValues, "", "a subquery with several columns stands where one value is wanted"),
        }
    }

    pub(crate) fn null_test(&mut self, inner: &'a Expr<'a>, test: &str) -> R<Val> {
        let start = self.at();
        let mut value = self.expr(inner, Ty::Any)?;
        if value.ty == Ty::Param && self.postgres {
            // Its type does not matter for the test, but the server wants one.
            self.put("::text");
            value.strength = Strength::Operator;
        }
        self.enclose(start, &mut value, Strength::Operator);
        self.put(test);
        Ok(Val::of(Ty::Bool).never_null().with(Strength::Comparison))
    }

    pub(crate) fn literal(&mut self, literal: &Literal<'a>) -> R<Val> {
        match literal {
            Literal::Numeric(text) => match number_literal(text) {
                Some(number) => Ok(self.number(number)),
                None => no(Id::Literals, text, "a number of a form that is not understood"),
            },
            Literal::String(text) => {
                let text = plain(text);
                push_text(&mut self.sql, &text);
                Ok(Val { wordy: number_in_text(&text).is_none(), ..Val::of(Ty::Text).never_null() })
            }
            Literal::Blob(hex) => {
                self.fire(Id::Blobs);
                let digits = hex.trim_start_matches(['x', 'X']).trim_matches('\'');
                if self.postgres {
                    self.put("'\\x");
                    self.put(digits);
                    self.put("'::bytea");
                } else {
                    self.put("x'");
                    self.put(digits);
                    self.put("'");
                }
                Ok(Val::of(Ty::Blob).never_null())
            }
            Literal::Null => {
                self.put("NULL");
                Ok(Val::of(Ty::Null))
            }
            Literal::Keyword(word) => no(Id::Syntax, word, "a keyword stands where a value is wanted"),
            Literal::CurrentDate => Ok(self.current("YYYY-MM-DD", "%Y-%m-%d")),
            Literal::CurrentTime => Ok(self.current("HH24:MI:SS", "%H:%i:%s")),
            Literal::CurrentTimestamp => Ok(self.current("YYYY-MM-DD HH24:MI:SS", "%Y-%m-%d %H:%i:%s")),
        }
    }

    /// The time now, as UTC text. Both servers keep it the same for a whole statement.
    pub(crate) fn current(&mut self, postgres: &str, mariadb: &str) -> Val {
        self.fire(Id::CurrentTime);
        if self.postgres {
            self.put("to_char(statement_timestamp() AT TIME ZONE 'UTC', '");
            self.put(postgres);
        } else {
            self.put("DATE_FORMAT(UTC_TIMESTAMP(), '");
            self.put(mariadb);
        }
        self.put("')");
        Val { wordy: true, ..Val::of(Ty::Text).never_null() }
    }

    pub(crate) fn number(&mut self, number: Number) -> Val {
        match number {
            Number::Int(n) => {
                let start = self.at();
                if n == i64::MIN {
                    self.either("(-9223372036854775807 - 1)", "(-9223372036854775807 - 1)");
                    return Val::of(Ty::Int).never_null();
                }
                crate::emit::push_decimal(&mut self.sql, n.unsigned_abs() as usize);
                if n < 0 {
                    self.wrap(start, "-", "");
                }
                let strength = if n < 0 { Strength::Operator } else { Strength::Atom };
                Val { narrow: i32::try_from(n).is_ok(), ..Val::of(Ty::Int).never_null().with(strength) }
            }
            Number::Real(n) => {
                if n.is_infinite() {
                    // SQLite reads 1e999 as infinity, which MariaDB has not: the statement is refused in the end.
                    self.infinite = true;
                    self.put(if n > 0.0 { "'Infinity'" } else { "'-Infinity'" });
                } else if self.postgres {
                    self.sql.push_str(&format!("'{n:e}'"));
                } else {
                    self.sql.push_str(&format!("{n:e}"));
                }
                if self.postgres {
                    self.put("::float8");
                }
                Val::of(Ty::Real).never_null().with(if n < 0.0 { Strength::Operator } else { Strength::Atom })
            }
        }
    }

    /// A bare name: a column, then an alias of the select list, then TRUE and FALSE, then a text in double quotes.
    pub(crate) fn identifier(&mut self, token: &'a str) -> R<Val> {
        let name = plain(token);
        let quoted = token.starts_with('"');
        if let Some(found) = self.find(None, &name)? {
            let upsert = self.upsert.is_some();
            self.token = token;
            return self.write_column(&found, upsert);
        }
        if let Some((_, expr)) = self.alias(&name) {
            self.fire(Id::AliasInExpression);
            let results = std::mem::take(&mut self.scopes.last_mut().expect("a scope with results").results);
            let start = self.at();
            let value = self.expr(expr, Ty::Any);
            self.scopes.last_mut().expect("the same scope").results = results;
            let mut value = value?;
            self.enclose(start, &mut value, Strength::Atom);
            return Ok(value);
        }
        if !token.starts_with(['"', '[', '`']) {
            for (word, number) in [("true", 1), ("false", 0)] {
                if name.eq_ignore_ascii_case(word) {
                    self.fire(Id::Booleans);
                    return Ok(self.number(Number::Int(number)));
                }
            }
        }
        if quoted {
            self.fire(Id::DoubleQuotedText);
            push_text(&mut self.sql, &name);
            return Ok(Val::of(Ty::Text).never_null());
        }
        no(Id::UnknownColumn, token, format!("no table here has a column `{name}`"))
    }

    pub(crate) fn qualified(&mut self, table: &'a str, column: &'a str) -> R<Val> {
        let (table_name, column_name) = (plain(table), plain(column));
        if let Some(target) = self.upsert
            && table_name.eq_ignore_ascii_case("excluded")
        {
            return self.excluded(target, &column_name);
        }
        match self.find(Some(&table_name), &column_name)? {
            Some(found) => {
                self.token = column;
                self.write_column(&found, true)
            }
            None => no(Id::UnknownColumn, column, format!("no table here has a column `{table_name}.{column_name}`")),
        }
    }

    /// Writes an expression as a condition.
    pub(crate) fn condition(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        if let Expr::Literal(Literal::String(text)) = bare(expr) {
            // A text is true if the number it begins with is not 0.
            let text = plain(text);
            let truth = !matches!(crate::types::number_prefix(&text), Number::Int(0) | Number::Real(0.0));
            self.fire(Id::TextAsNumber);
            self.put(if truth { "TRUE" } else { "FALSE" });
            return Ok(Val::of(Ty::Bool).never_null());
        }
        let value = self.expr(expr, Ty::Int)?;
        self.as_condition(start, value)
    }

    pub(crate) fn as_condition(&mut self, start: usize, mut value: Val) -> R<Val> {
        match value.ty {
            Ty::Bool => {}
            Ty::Int | Ty::Real | Ty::Number | Ty::Param => {
                self.fire(Id::Booleans);
                if self.postgres {
                    self.enclose(start, &mut value, Strength::Operator);
                    self.put(" <> 0");
                    value.strength = Strength::Comparison;
                }
            }
            Ty::Null => {
                if self.postgres {
                    self.put("::boolean");
                    value.strength = Strength::Operator;
                }
            }
            Ty::Text | Ty::Blob | Ty::Any => {
                return no(
                    Id::TextAsNumber,
                    "",
                    format!("{} as a condition: its text would be read as a number", value.ty.word()),
                );
            }
        }
        value.ty = Ty::Bool;
        value.affinity = Affinity::None;
        Ok(value)
    }

    /// Writes an expression as a value: a truth value becomes 0 or 1.
    pub(crate) fn value(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        let start = self.at();
        let value = self.expr(expr, want)?;
        Ok(self.as_integer(start, value))
    }

    pub(crate) fn as_integer(&mut self, start: usize, mut value: Val) -> Val {
        if value.ty == Ty::Bool {
            self.fire(Id::Booleans);
            if self.postgres {
                self.enclose(start, &mut value, Strength::Atom);
                self.put("::int");
                value.narrow = true;
                value.strength = Strength::Operator;
            }
            value.ty = Ty::Int;
        }
        value
    }

    /// Writes a value that leaves the expression: a column of a result, a subquery or VALUES. Integers have 64 bits.
    pub(crate) fn result(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        let start = self.at();
        let mut value = self.value(expr, want)?;
        if self.postgres && value.narrow {
            self.enclose(start, &mut value, Strength::Atom);
            self.put("::bigint");
            value.narrow = false;
        }
        if self.postgres && value.ty == Ty::Param {
            return no(
                Id::Parameters,
                "",
                "nothing here gives the parameter a type; write CAST(? AS INTEGER), CAST(? AS TEXT) or the like",
            );
        }
        Ok(value)
    }

    pub(crate) fn binary(&mut self, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>, want: Ty) -> R<Val> {
        match op {
            Operator::And | Operator::Or => self.logical(left, op, right),
            Operator::Concat => self.concat(left, right),
            Operator::ArrowRight | Operator::ArrowRightShift => self.json_arrow(left, op, right),
            op if crate::rules::arithmetic::is_arithmetic(op) => self.arithmetic(left, op, right, want),
            Operator::BitwiseAnd | Operator::BitwiseOr | Operator::LeftShift | Operator::RightShift => {
                self.bits(left, op, right)
            }
            _ => self.compare(left, op, right),
        }
    }

    /// AND and OR: chains are written flat, so that a long one is not deep.
    pub(crate) fn logical(&mut self, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
        let mut terms = vec![right];
        let mut first = left;
        while let Expr::Binary(l, o, r) = first
            && *o == op
        {
            terms.push(r);
            first = l;
        }
        let (word, strength) = match op {
            Operator::And => (" AND ", Strength::And),
            _ => (" OR ", Strength::Or),
        };
        let mut nullable = false;
        let mut write = |tr: &mut Self, term: &'a Expr<'a>| -> R<()> {
            let start = tr.at();
            let mut value = tr.condition(term)?;
            nullable |= value.nullable;
            tr.enclose(start, &mut value, strength);
            Ok(())
        };
        write(self, first)?;
        for term in terms.into_iter().rev() {
            self.put(word);
            write(self, term)?;
        }
        Ok(Val { nullable, ..Val::of(Ty::Bool).with(strength) })
    }

    pub(crate) fn unary(&mut self, op: UnaryOperator, inner: &'a Expr<'a>, want: Ty) -> R<Val> {
        let start = self.at();
        match op {
            UnaryOperator::Not => {
                self.put("NOT ");
                let inner_start = self.at();
                let mut value = self.condition(inner)?;
                // MariaDB under HIGH_NOT_PRECEDENCE and readers alike are served by parentheses.
                self.enclose(inner_start, &mut value, Strength::Atom);
                Ok(Val { nullable: value.nullable, ..Val::of(Ty::Bool).with(Strength::Not) })
            }
            UnaryOperator::Negative => {
                if let Expr::Literal(Literal::Numeric("9223372036854775808")) = bare(inner) {
                    return Ok(self.number(Number::Int(i64::MIN)));
                }
                let value = self.arithmetic_operand(inner, if want.numeric() { want } else { Ty::Int })?;
                self.wrap(start, "-(", ")");
                Ok(Val { narrow: value.narrow, nullable: value.nullable, ..Val::of(value.ty).with(Strength::Operator) })
            }
            UnaryOperator::Positive => {
                // No operation; the operand is no longer a column, so it has no affinity.
                let value = self.expr(inner, want)?;
                Ok(Val { affinity: Affinity::None, ..value })
            }
            UnaryOperator::BitwiseNot => {
                let value = self.numeric_operand(inner, Ty::Int)?;
                if value.ty != Ty::Int {
                    return no(Id::Bits, "~", "only integers have bits");
                }
                self.fire(Id::Bits);
                if self.postgres {
                    self.wrap(start, "~(", if value.narrow { ")::bigint" } else { ")" });
                } else {
                    self.wrap(start, "CAST(~(", ") AS SIGNED)");
                }
                Ok(Val { nullable: value.nullable, ..Val::of(Ty::Int).with(Strength::Operator) })
            }
        }
    }
}

/// Whether a query has one row at most: an aggregate over everything.
pub(crate) fn one_row(select: &crate::parse::tree::Select) -> bool {
    use crate::parse::tree::{OneSelect, ResultColumn};
    let aggregate = |column: &ResultColumn| match column {
        ResultColumn::Expr(Expr::FunctionCallStar { filter_over, .. }, _) => filter_over.is_none(),
        ResultColumn::Expr(Expr::FunctionCall { name, args: Some([_]), filter_over: None, .. }, _) => {
            ["count", "sum", "total", "avg", "min", "max"].iter().any(|n| name.0.eq_ignore_ascii_case(n))
        }
        _ => false,
    };
    match &select.body.select {
        OneSelect::Select { columns, group_by: None, .. } => {
            select.body.compounds.is_none() && columns.iter().any(aggregate)
        }
        _ => false,
    }
}
