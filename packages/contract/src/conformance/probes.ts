import type { Field, Shape } from './shape.ts';

/** Values on both sides of every limit of a shape: `accept` must pass and `reject` must fail. */
export interface Probes {
  readonly accept: readonly unknown[];
  readonly reject: readonly unknown[];
}

export interface ProbeContext {
  readonly recordNamed: (name: string) => Shape;
  /** Paths where the contract accepts more or less than the text by decision. */
  readonly skip: (path: string) => boolean;
}

/** The smallest value that satisfies a shape. */
export function sample(shape: Shape, context: ProbeContext): unknown {
  switch (shape.kind) {
    case 'ref':
      return sample(context.recordNamed(shape.ref ?? ''), context);
    case 'object':
      return Object.fromEntries(
        (shape.fields ?? []).map(({ name, shape: inner }) => [name, sample(inner, context)]),
      );
    case 'oneOf': {
      const [first] = shape.branches?.values() ?? [];
      return first === undefined ? {} : sample(first, context);
    }
    case 'array':
      return shape.items === undefined ? [] : [sample(shape.items, context)];
    case 'enum':
      return literalOf(shape.values?.[0] ?? '');
    case 'string':
      return 'a'.repeat(shape.minLength ?? 1);
    case 'integer':
    case 'number':
      return smallestNumber(shape);
    case 'boolean':
      return true;
    case 'map':
      return {};
    case 'any':
    case 'untyped':
      return 'anything';
    case 'null':
      return null;
  }
}

/** The text spells only booleans as literals; all other literals are strings. */
function literalOf(text: string): unknown {
  return text === 'true' || text === 'false' ? text === 'true' : text;
}

function smallestNumber({ min, above, multipleOf }: Shape): number {
  if (multipleOf !== undefined) return multipleOf;
  if (above !== undefined) return above + 1;
  return min === undefined || Math.abs(min) > 1_000_000 ? 1 : Math.max(min, 1);
}

function numberProbes(shape: Shape): Probes {
  const step = shape.multipleOf ?? (shape.kind === 'integer' ? 1 : 0.01);
  const accept: unknown[] = [smallestNumber(shape)];
  const reject: unknown[] = ['1', true, {}];
  const { min, max, above, multipleOf } = shape;
  if (min !== undefined) {
    accept.push(min % step === 0 || multipleOf === undefined ? min : multipleOf);
    reject.push(min - step);
  }
  if (above !== undefined) reject.push(above);
  if (max !== undefined) {
    accept.push(max);
    // Above the largest safe integer, the next double is two larger.
    reject.push(max === Number.MAX_SAFE_INTEGER ? max + 1 : max + step);
  }
  if (multipleOf !== undefined) reject.push(multipleOf * 1.5);
  if (shape.kind === 'integer') reject.push(smallestNumber(shape) + 0.5);
  return { accept, reject };
}

function stringProbes(shape: Shape): Probes {
  const accept: unknown[] = [sample(shape, noRecords)];
  const reject: unknown[] = [1, true, {}];
  if (shape.maxLength !== undefined) {
    accept.push('a'.repeat(shape.maxLength));
    reject.push('a'.repeat(shape.maxLength + 1));
  }
  if (shape.minLength !== undefined) reject.push('a'.repeat(shape.minLength - 1));
  if (shape.pattern === 'label') {
    accept.push('Az09_-');
    reject.push('with space', 'umlaut-ü', 'dot.dot', 'line\nbreak', 'line-end\n');
  }
  return { accept, reject };
}

const noRecords: ProbeContext = {
  recordNamed: (name) => {
    throw new Error(`A scalar cannot refer to ${name}.`);
  },
  skip: () => false,
};

function arrayProbes(shape: Shape, context: ProbeContext, path: string): Probes {
  const { items, minItems, maxItems } = shape;
  if (items === undefined) return { accept: [[]], reject: [{}] };
  const one = sample(items, context);
  const inner = context.skip(`${path}[]`)
    ? { accept: [], reject: [] }
    : probesOf(items, context, `${path}[]`);
  const accept: unknown[] = inner.accept.map((item) => [item]);
  const reject: unknown[] = [...inner.reject.map((item) => [item]), 'text', {}];
  const filled = (length: number): unknown[] => Array.from({ length }, () => one);
  if (minItems !== undefined) reject.push(filled(minItems - 1));
  if (minItems === undefined && !context.skip(path)) accept.push([]);
  if (maxItems !== undefined) {
    accept.push(filled(maxItems));
    reject.push(filled(maxItems + 1));
  }
  return { accept, reject };
}

function without(value: object, name: string): unknown {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}

function fieldProbes(field: Field, whole: object, context: ProbeContext, path: string): Probes {
  const at = path === '' ? field.name : `${path}.${field.name}`;
  if (context.skip(at)) return { accept: [], reject: [] };
  const inner = probesOf(field.shape, context, at);
  const put = (value: unknown): unknown => ({ ...whole, [field.name]: value });
  const accept = inner.accept.map(put);
  const reject = inner.reject.map(put);
  const optional = field.required === false || field.shape.default !== undefined;
  if (optional) accept.push(without(whole, field.name));
  else if (field.required === true) reject.push(without(whole, field.name));
  return { accept, reject };
}

function objectProbes(shape: Shape, context: ProbeContext, path: string): Probes {
  if (shape.fields === undefined) return { accept: [{}, { free: [1] }], reject: ['text', []] };
  const whole = sample(shape, context) as object;
  const all = shape.fields.map((field) => fieldProbes(field, whole, context, path));
  return {
    accept: [whole, ...all.flatMap(({ accept }) => accept)],
    reject: ['text', 1, ...all.flatMap(({ reject }) => reject)],
  };
}

function branchProbes(shape: Shape, context: ProbeContext, path: string): Probes {
  const all = [...(shape.branches ?? [])].map(([name, branch]) =>
    probesOf(branch, context, `${path}<${name}>`),
  );
  return { accept: all.flatMap(({ accept }) => accept), reject: all.flatMap(({ reject }) => reject) };
}

function mapProbes(shape: Shape, context: ProbeContext, path: string): Probes {
  const inner =
    shape.items === undefined ? { accept: [], reject: [] } : probesOf(shape.items, context, `${path}[]`);
  return {
    accept: [{}, ...inner.accept.map((value) => ({ key: value }))],
    reject: ['text', ...inner.reject.map((value) => ({ key: value }))],
  };
}

function plainProbes(shape: Shape, context: ProbeContext, path: string): Probes {
  switch (shape.kind) {
    case 'ref':
      return { accept: [sample(shape, context)], reject: ['text', 1] };
    case 'object':
      return objectProbes(shape, context, path);
    case 'oneOf':
      return branchProbes(shape, context, path);
    case 'array':
      return arrayProbes(shape, context, path);
    case 'map':
      return mapProbes(shape, context, path);
    case 'enum':
      return { accept: (shape.values ?? []).map(literalOf), reject: ['no-such-value', 7] };
    case 'string':
      return stringProbes(shape);
    case 'integer':
    case 'number':
      return numberProbes(shape);
    case 'boolean':
      return { accept: [true, false], reject: ['true', 1] };
    case 'null':
      return { accept: [null], reject: ['text', 0] };
    case 'any':
      return { accept: ['text', 1, null, { free: true }, [1]], reject: [] };
    case 'untyped':
      return { accept: [], reject: [] };
  }
}

export function probesOf(shape: Shape, context: ProbeContext, path = ''): Probes {
  const { accept, reject } = plainProbes(shape, context, path);
  if (shape.nullable === true) return { accept: [...accept, null], reject };
  const nullIsValue = shape.kind === 'null' || shape.kind === 'any' || shape.kind === 'untyped';
  return { accept, reject: nullIsValue ? reject : [...reject, null] };
}
