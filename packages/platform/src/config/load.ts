import type { ConfigProblem, Fragment, ValuesOf, Variable, Variables } from './fragment.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

// `check` makes Fragment contravariant in its variables, so a list of fragments cannot name their types.
type AnyFragment = Pick<Fragment, 'name' | 'variables'> & {
  readonly check: (values: never) => readonly ConfigProblem[];
};

type ConfigOf<Fragments extends readonly AnyFragment[]> = {
  readonly [F in Fragments[number] as F['name']]: ValuesOf<F['variables']>;
};

/** Thrown at start. The message is the whole report. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(formatReport(problems));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Reads all settings; no other code reads the environment. Throws one `ConfigError` that lists all problems. */
export function loadConfig<const Fragments extends readonly AnyFragment[]>(
  fragments: Fragments,
  env: Environment = process.env,
): ConfigOf<Fragments> {
  const problems: ConfigProblem[] = [];
  const config: Record<string, unknown> = {};
  for (const part of fragments) {
    const { values, wrong } = readVariables(part.variables, env);
    problems.push(...wrong);
    // Safe: each value was parsed by its own schema, and the check belongs to the same variables.
    if (wrong.length === 0) problems.push(...part.check(values as never));
    config[part.name] = values;
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config as ConfigOf<Fragments>;
}

function readVariables(
  variables: Variables,
  env: Environment,
): { readonly values: Record<string, unknown>; readonly wrong: readonly ConfigProblem[] } {
  const values: Record<string, unknown> = {};
  const wrong: ConfigProblem[] = [];
  for (const [name, variable] of Object.entries(variables)) {
    const text = env[variable.env] === '' ? undefined : env[variable.env];
    const parsed = variable.schema.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else
      wrong.push(
        problemOf(
          variable,
          text,
          parsed.error.issues.map(({ message }) => message),
        ),
      );
  }
  return { values, wrong };
}

function problemOf(variable: Variable, text: string | undefined, messages: readonly string[]): ConfigProblem {
  const { env, secret, expected, example } = variable;
  const found = text === undefined ? 'is not set' : secret ? 'is set but wrong' : `is ${quote(text)}`;
  // Messages of values.ts explain the problem; zod's own type messages say less than `expected`.
  const own = messages.filter((message) => !message.startsWith('Invalid'));
  const why = text === undefined || secret || own.length === 0 ? '' : ` (${own.join('; ')})`;
  return { env, problem: `${found}; expected ${expected}${why}`, example };
}

function quote(text: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 57)}...` : text;
  return JSON.stringify(shown);
}

function formatReport(problems: readonly ConfigProblem[]): string {
  const count = problems.length === 1 ? '1 setting is wrong' : `${problems.length} settings are wrong`;
  const lines = problems.map(({ env, problem, example }) => {
    const exampleLine = example === undefined ? '' : `\n    Example: ${env}=${example}`;
    return `  ${env} ${problem}.${exampleLine}`;
  });
  return `Millrace cannot start: ${count}.\n\n${lines.join('\n')}\n`;
}
