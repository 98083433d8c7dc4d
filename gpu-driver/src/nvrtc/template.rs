//! Texts of programs from templates.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};

use super::Program;
use crate::{CompileError, DriverError, Result};

impl Program {
    /// A program whose text is a template (Jinja2's language, by [`minijinja`]): loops that are unrolled, constants, and parts that are left out. Needs the
    /// feature `templates`.
    ///
    /// `{{ value }}` is replaced by a value of the context, `{% for i in range(4) %} … {% endfor %}` repeats a text, and `{% if … %} … {% endif %}` leaves
    /// it out. The line of such a `{% … %}` goes if nothing else is on it. A value that the context lacks is an error. Two braces side by side in C++ are
    /// written apart: `{ {1, 2}, {3, 4} }`.
    ///
    /// The program is named `kernel.cu`; messages of the compiler count the lines of the text that comes out, which the error shows.
    ///
    /// # Errors
    /// `Compile` with the line of the template, for a template that is wrong and a value that is missing.
    ///
    /// # Example
    /// ```
    /// use gpu_driver::{Program, minijinja::context};
    /// let source = "extern \"C\" __global__ void add({{ type }} *x) {
    /// {% for i in range(unroll) %}
    ///     x[{{ unroll }} * threadIdx.x + {{ i }}] += {{ i * i }};
    /// {% endfor %}
    /// }
    /// ";
    /// let program = Program::from_template(source, context! { type => "float", unroll => 2 })?;
    /// let text = "extern \"C\" __global__ void add(float *x) {
    ///     x[2 * threadIdx.x + 0] += 0;
    ///     x[2 * threadIdx.x + 1] += 1;
    /// }
    /// ";
    /// assert_eq!(program.digest(), Program::from(text).digest());
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("jinja", "mako", "cheetah"))]
    pub fn from_template(source: &str, context: impl Into<Value>) -> Result<Self> {
        const NAME: &str = "kernel.cu";
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true).build();
        let text = syntax.and_then(|syntax| {
            environment.set_syntax(syntax);
            environment.render_named_str(NAME, source, context.into())
        });
        text.map(|text| Self::new(NAME, text)).map_err(|error| in_template(NAME, source, &error))
    }
}

/// The error of a template, in the form of a compiler's, so that its line is shown.
fn in_template(name: &str, source: &str, error: &minijinja::Error) -> DriverError {
    let place = error.line().map(|line| format!("{name}({line}): ")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let log = format!("{place}error: in the template: {}{detail}\n", error.kind());
    let (name, source, options) = (name.to_owned(), source.to_owned(), vec!["a template".to_owned()]);
    DriverError::Compile(Box::new(CompileError { name, options, log, source }))
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    fn error(source: &str) -> String {
        Program::from_template(source, context! { n => 3, names => ["a", "b"] }).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_in_templates_show_their_line() {
        let undefined = error("one\n{% for i in range(n) %}\n{{ i }} {{ width }}\n{% endfor %}\n");
        assert!(undefined.contains("kernel.cu(3): error: in the template: undefined value"), "{undefined}");
        assert!(undefined.contains(">    3 | {{ i }} {{ width }}"), "{undefined}");
        let open = error("one\n\n{% for i in range(n) %}\n");
        assert!(open.contains("kernel.cu(") && open.contains("syntax error"), "{open}");
        let unknown = error("{{ n|no_such_filter }}");
        assert!(unknown.contains("kernel.cu(1)") && unknown.contains("no_such_filter"), "{unknown}");
    }

    #[test]
    fn texts_are_what_the_template_says() {
        let digest = |text: &str| Program::from(text).digest();
        let of =
            |source: &str| Program::from_template(source, context! { n => 3, names => ["a", "b"] }).map(|p| p.digest());
        // Nothing is escaped, and the last line keeps its end.
        assert_eq!(of("if (a < b && c > 'd') { {{ n }}; }\n").unwrap(), digest("if (a < b && c > 'd') { 3; }\n"));
        let loops = "{% for name in names %}\n  int {{ name }};\n{% endfor %}\n{% if n > 2 %}\nlarge\n{% endif %}\n";
        assert_eq!(of(loops).unwrap(), digest("  int a;\n  int b;\nlarge\n"));
        let half = Program::from_template("{{ x }}", context! { x => 0.5 }).unwrap();
        assert_eq!(half.digest(), digest("0.5"));
        // A map is a context too.
        let map = std::collections::BTreeMap::from([("n", 4)]);
        assert_eq!(Program::from_template("{{ n }}", map).unwrap().digest(), digest("4"));
    }
}
