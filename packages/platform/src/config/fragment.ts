import type { z } from 'zod';

/** One environment variable: how to parse it, and the texts of the error report. */
export interface Variable<Schema extends z.ZodType = z.ZodType> {
  readonly env: `MILLRACE_${string}`;
  /** Parses the variable. Missing and empty ones arrive as undefined, so a default makes them optional. */
  readonly schema: Schema;
  /** Completes the sentence "expected …". */
  readonly expected: string;
  readonly example: string;
  /** The value is never printed, even if it is wrong, and may also be in a file: see `readSetting`. */
  readonly secret?: true;
}

export type Variables = Readonly<Record<string, Variable>>;

export type ValuesOf<V extends Variables> = { readonly [Name in keyof V]: z.output<V[Name]['schema']> };

/** A problem with the settings, under the variable to change. */
export interface ConfigProblem {
  readonly env: string;
  readonly problem: string;
  readonly example?: string;
}

/** The settings of one module. Each package exports its own; a process composes those it uses. */
export interface Fragment<Name extends string = string, V extends Variables = Variables> {
  readonly name: Name;
  readonly variables: V;
  /** Rules over several variables; runs only if each variable is valid. */
  readonly check: (values: ValuesOf<V>) => readonly ConfigProblem[];
}

export function fragment<const Name extends string, const V extends Variables>(
  name: Name,
  variables: V,
  check: (values: ValuesOf<V>) => readonly ConfigProblem[] = () => [],
): Fragment<Name, V> {
  return { name, variables, check };
}
