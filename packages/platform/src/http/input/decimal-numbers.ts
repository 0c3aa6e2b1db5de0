import { z } from 'zod';

/** Numbers not in decimal notation. `Number()` also accepts `1e0` and `0x1`, so one resource would have many URLs. */
export function nonDecimalNumbers(schema: z.ZodType, input: unknown): string[] {
  if (!(schema instanceof z.ZodObject) || typeof input !== 'object' || input === null) return [];
  const values = new Map<string, unknown>(Object.entries(input));
  return Object.entries(schema.shape)
    .filter(([name, field]) => {
      const value = values.get(name);
      return value !== undefined && readsNumbers(field) && !isAccepted(field, value);
    })
    .map(([name]) => name);
}

/** Whether a field parses text as a number, also inside an optional, a default or a union. */
function readsNumbers(schema: unknown): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return readsNumbers(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.some(readsNumbers);
  return schema instanceof z.ZodNumber && schema.def.coerce === true;
}

function isAccepted(schema: unknown, value: unknown): boolean {
  if (typeof value === 'string' && /^(?:0|-?[1-9][0-9]{0,15})$/.test(value)) return true;
  return acceptsText(schema, value);
}

/** Whether a field accepts this text as something other than a number, such as `latest`. */
function acceptsText(schema: unknown, value: unknown): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return acceptsText(schema.unwrap(), value);
  if (schema instanceof z.ZodUnion) return schema.options.some((option) => acceptsText(option, value));
  return schema instanceof z.ZodType && !readsNumbers(schema) && schema.safeParse(value).success;
}
