import { z } from 'zod';
import { fragment } from './fragment.ts';

export const consoleConfig = fragment('console', {
  isServed: {
    env: 'MILLRACE_CONSOLE',
    schema: z
      .enum(['on', 'off'])
      .default('on')
      .transform((value) => value === 'on'),
    expected: 'on to serve the console at /console/, or off',
    example: 'off',
  },
});
