import type { z } from 'zod';

/** One environment variable: how it is read, and how a person is told what belongs there. */
export interface Variable<Schema extends z.ZodType = z.ZodType> {
  /** Always starts with `MILLRACE_`. */
  readonly env: `MILLRACE_${string}`;
  /** Reads the text of the variable; absent and empty arrive as undefined, so a default makes it optional. */
  readonly schema: Schema;
  /** Completes the sentence "expected …". */
  readonly expected: string;
  readonly example: string;
  /** Its value is never printed, not even when it is wrong. */
  readonly secret?: true;
}

export type Variables = Readonly<Record<string, Variable>>;

export type ValuesOf<V extends Variables> = { readonly [Name in keyof V]: z.output<V[Name]['schema']> };

/** Something wrong with the settings, named by the variable a person has to change. */
export interface ConfigProblem {
  readonly env: string;
  readonly problem: string;
  readonly example?: string;
}

/** The settings of one part. Each package exports its own; a process composes the ones it uses. */
export interface Fragment<Name extends string = string, V extends Variables = Variables> {
  readonly name: Name;
  readonly variables: V;
  /** Rules over several variables; runs only when each of them is right by itself. */
  readonly check: (values: ValuesOf<V>) => readonly ConfigProblem[];
}

export function fragment<const Name extends string, const V extends Variables>(
  name: Name,
  variables: V,
  check: (values: ValuesOf<V>) => readonly ConfigProblem[] = () => [],
): Fragment<Name, V> {
  return { name, variables, check };
}
