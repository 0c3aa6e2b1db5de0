import { readFileSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** Schemas of single settings. Each parses the text of a variable; `.default(…)` makes the variable optional. */

const text = z
  .string()
  .transform((value) => value.trim())
  .pipe(z.string().min(1));

function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, 'it is not a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `it must be ${min} to ${max}`);
}

const boolean = z.enum(['true', 'false']).transform((value) => value === 'true');

const port = wholeNumber(0, 65_535);

function url(...schemes: readonly string[]) {
  return text.refine(
    (value) => {
      const parsed = URL.canParse(value) ? new URL(value) : null;
      return parsed !== null && schemes.includes(parsed.protocol.slice(0, -1));
    },
    `it must start with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
  );
}

/** A web origin: scheme, host and port only. */
const origin = url('http', 'https').refine(
  (value) => URL.canParse(value) && new URL(value).origin === value,
  'it must be an origin as browsers write it: a scheme, a lowercase host and a port unless it is the default, without a path',
);

/** Comma-separated; blanks around items are ignored, empty items are not allowed. */
function listOf<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .transform((value) => value.split(',').map((part) => part.trim()))
    .pipe(z.array(item));
}

const cidr = z.string().refine((value) => {
  const candidate = value.includes('/') ? value : `${value}/${value.includes(':') ? 128 : 32}`;
  return ipaddr.isValidCIDR(candidate);
}, 'not an address or a CIDR block');

const host = z
  .string()
  .refine(
    (value) => value === 'localhost' || ipaddr.isValid(value),
    'it is neither an address nor localhost',
  );

const fileText = z.string().transform((path, issue) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    issue.addIssue({ code: 'custom', message: 'the file cannot be read' });
    return z.NEVER;
  }
});

/** An empty file would mean the public authorities. */
const certificatesText = fileText.refine(
  (pem) => pem.includes('-----BEGIN CERTIFICATE-----'),
  'it contains no PEM certificate',
);

function json<Shape extends z.ZodType>(shape: Shape) {
  return z.string().transform((value, issue): z.output<Shape> => {
    const parsed = shape.safeParse(parseJson(value));
    if (parsed.success) return parsed.data;
    for (const { path, message } of parsed.error.issues) {
      issue.addIssue({
        code: 'custom',
        message: `at ${path.map(String).join('.') || 'the top'}: ${message}`,
      });
    }
    return z.NEVER;
  });
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

export const values = {
  text,
  wholeNumber,
  boolean,
  port,
  url,
  origin,
  listOf,
  cidr,
  host,
  fileText,
  certificatesText,
  json,
};
