import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
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
    const setting = readSetting(variable, env);
    if ('problem' in setting) {
      wrong.push(setting);
      continue;
    }
    const parsed = variable.schema.safeParse(setting.text);
    if (parsed.success) values[name] = parsed.data;
    else
      wrong.push(
        problemOf(
          variable,
          setting,
          parsed.error.issues.map(({ message }) => message),
        ),
      );
  }
  return { values, wrong };
}

interface Setting {
  /** The variable that was read: its own, or that with the path of the file. */
  readonly env: string;
  /** Undefined if it is not set. */
  readonly text: string | undefined;
}

const MAX_FILE_BYTES = 65_536;

/** A secret may also be the content of the file that `<NAME>_FILE` names, because environments are easier to read. */
function readSetting(variable: Variable, env: Environment): Setting | ConfigProblem {
  const own = { env: variable.env, text: textOf(env, variable.env) };
  if (variable.secret !== true) return own;
  const fileEnv = `${variable.env}_FILE`;
  const path = textOf(env, fileEnv);
  if (path === undefined) return own;
  if (own.text !== undefined)
    return { env: fileEnv, problem: `and ${variable.env} are both set; remove one of them` };
  // It may be the secret itself, set under the wrong name, so it is not printed.
  if (!isAbsolute(path)) return { env: fileEnv, problem: 'is not the absolute path of a file' };
  try {
    const file = statSync(path);
    if (!file.isFile() || file.size > MAX_FILE_BYTES) {
      return { env: fileEnv, problem: `is ${quote(path)}; that is not a file of at most 64 KiB` };
    }
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    if (text !== '') return { env: fileEnv, text };
    return { env: fileEnv, problem: `is ${quote(path)}; the file is empty` };
  } catch (error) {
    return { env: fileEnv, problem: `is ${quote(path)}; the file cannot be read${codeOf(error)}` };
  }
}

function textOf(env: Environment, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
}

function problemOf(variable: Variable, { env, text }: Setting, messages: readonly string[]): ConfigProblem {
  const { secret, expected } = variable;
  if (env !== variable.env)
    return { env, problem: `names a file with a wrong value; the file must contain ${expected}` };
  const { example } = variable;
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
