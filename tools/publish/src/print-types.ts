import { z } from 'zod';

/** Prints schemas as plain TypeScript, so that a published package has the contract's types without the contract. */

/** Senders may omit fields with a default (input); receivers always get them (output). */
type SchemaDirection = 'input' | 'output';

export interface TypePrinter {
  print(schema: z.ZodType, side: SchemaDirection): string;
  /** The named types that `text` uses, in the order of their first use. */
  declarationsFor(text: string): readonly string[];
}

/** `reserved` are names that the surrounding file already uses. */
export function createTypePrinter(reserved: readonly string[]): TypePrinter {
  const named = new Map<string, string>();
  const names = new Map<z.ZodType, Record<SchemaDirection, string>>();

  const print = (schema: z.ZodType, side: SchemaDirection): string => {
    const id = z.globalRegistry.get(schema)?.id;
    return id === undefined ? plain(schema, side) : nameOf(schema, id)[side];
  };

  /** Equal input and output types share one name. */
  const nameOf = (schema: z.ZodType, id: string): Record<SchemaDirection, string> => {
    const known = names.get(schema);
    if (known !== undefined) return known;
    const texts = { input: plain(schema, 'input'), output: plain(schema, 'output') };
    const given = {
      output: declare(id, texts.output),
      input: texts.input === texts.output ? declare(id, texts.output) : declare(`${id}Input`, texts.input),
    };
    names.set(schema, given);
    return given;
  };

  const declare = (wanted: string, text: string): string => {
    let name = wanted;
    const isTaken = (): boolean => reserved.includes(name) || (named.get(name) ?? text) !== text;
    for (let count = 2; isTaken(); count += 1) name = `${wanted}${count}`;
    named.set(name, text);
    return name;
  };

  const plain = (schema: z.ZodType, side: SchemaDirection): string => {
    const text = textOf(schema, (inner) => print(inner, side), side);
    if (text !== null) return text;
    throw new Error(`print-types.ts cannot print a schema of type ${schema.def.type}`);
  };

  return {
    print,
    declarationsFor: (text) => {
      const needed = new Set<string>();
      const need = (part: string): void => {
        for (const [name] of part.matchAll(/\b[A-Z]\w*\b/g)) {
          const definition = named.get(name);
          if (definition === undefined || needed.has(name)) continue;
          needed.add(name);
          need(definition);
        }
      };
      need(text);
      return [...named].flatMap(([name, definition]) =>
        needed.has(name) ? [`type ${name} = ${definition};`] : [],
      );
    },
  };
}

type Inner = (schema: z.ZodType) => string;

function textOf(schema: z.ZodType, inner: Inner, side: SchemaDirection): string | null {
  if (schema instanceof z.ZodObject) return objectText(schema, inner, side);
  if (schema instanceof z.ZodArray) return `${grouped(inner(schema.def.element as z.ZodType))}[]`;
  if (schema instanceof z.ZodUnion)
    return unionText(schema.def.options.map((one) => inner(one as z.ZodType)));
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodLiteral) {
    return unionText([...new Set(schema._zod.values)].map(literalText));
  }
  if (schema instanceof z.ZodNullable) return unionText([inner(schema.def.innerType as z.ZodType), 'null']);
  if (schema instanceof z.ZodOptional)
    return unionText([inner(schema.def.innerType as z.ZodType), 'undefined']);
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const text = inner(schema.def.innerType as z.ZodType);
    return side === 'input' ? unionText([text, 'undefined']) : text;
  }
  if (schema instanceof z.ZodRecord) {
    return `Record<${inner(schema.def.keyType as z.ZodType)}, ${inner(schema.def.valueType as z.ZodType)}>`;
  }
  return simple[schema.def.type] ?? null;
}

const simple: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
  unknown: 'unknown',
  void: 'void',
  // Bytes are the only class in responses.
  custom: 'Uint8Array<ArrayBuffer>',
};

/** Their values depend on the configuration of each installation, so they are printed as strings. */
const installationFields: ReadonlySet<string> = new Set(['providerId']);

function objectText(schema: z.ZodObject, inner: Inner, side: SchemaDirection): string {
  const fields = Object.entries(schema.shape).map(([name, value]) => {
    const field = value as z.ZodType;
    const optional = side === 'input' ? field._zod.optin !== undefined : field._zod.optout === 'optional';
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const isOpen = installationFields.has(name) && field instanceof z.ZodLiteral;
    const text = isOpen ? 'string' : inner(field);
    return `${docText(field)}${key}${optional ? '?' : ''}: ${text};`;
  });
  const others = schema.def.catchall?._zod.def.type === 'unknown' ? ['[key: string]: unknown;'] : [];
  const lines = [...others, ...fields];
  return lines.length === 0 ? 'Record<never, never>' : `{ ${lines.join(' ')} }`;
}

function docText(schema: z.ZodType): string {
  const description = z.globalRegistry.get(schema)?.description;
  return description === undefined ? '' : `\n/** ${description.replaceAll('*/', '* /')} */\n`;
}

function unionText(texts: readonly string[]): string {
  return [...new Set(texts)].join(' | ');
}

function grouped(text: string): string {
  return /[|&]/.test(text) ? `(${text})` : text;
}

function literalText(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
