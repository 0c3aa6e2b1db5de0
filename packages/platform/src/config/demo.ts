import { fragment } from './fragment.ts';
import { values } from './values.ts';

/** Shared with the fragments whose rules depend on it. */
export const demoVariable = {
  env: 'MILLRACE_DEMO',
  schema: values.boolean.default(false),
  expected: 'true for a demo, which sells mock machines to live keys for play money, or false',
  example: 'true',
} as const;

/** A database that was used with true never works without it. */
export const demoConfig = fragment('demo', { isDemo: demoVariable });
