import { z } from 'zod';
import { fragment } from './fragment.ts';
import { values } from './values.ts';

const processAddress = values.text.transform((text, issue) => {
  const [, name = '', url = ''] = /^([a-z0-9 ._-]{1,40})=(https?:\/\/.{1,200})$/.exec(text) ?? [];
  if (name !== '' && URL.canParse(url)) return { name, url };
  issue.addIssue({ code: 'custom', message: 'it is not NAME=URL' });
  return { name, url };
});

/** Asked by apis, for the health page of operators. The default is the layout of one machine. */
export const healthProcessesConfig = fragment('healthProcesses', {
  list: {
    env: 'MILLRACE_HEALTH_PROCESSES',
    schema: values.listOf(processAddress).default([
      { name: 'worker', url: 'http://127.0.0.1:8081' },
      { name: 'gateway', url: 'http://127.0.0.1:8083' },
    ]),
    expected: 'the health addresses of all workers and gateways, as NAME=URL, comma-separated',
    example: 'worker 1=http://10.7.0.1:8081,gateway 1=http://10.7.0.1:8083',
  },
});

const TOKEN_LENGTH_MIN = 16;

/** The health of a process, for load balancers and monitoring. */
export const healthConfig = fragment('health', {
  host: {
    env: 'MILLRACE_HEALTH_HOST',
    schema: values.host.default('127.0.0.1'),
    expected: 'the address of the health port',
    example: '10.7.0.5',
  },
  token: {
    env: 'MILLRACE_HEALTH_TOKEN',
    schema: z
      .string()
      .regex(/^[\w.~+/=-]+$/)
      .min(TOKEN_LENGTH_MIN)
      .max(512)
      .nullable()
      .default(null),
    expected: `a bearer token of ${TOKEN_LENGTH_MIN} to 512 letters, digits and -._~+/= for metrics and details of health; without it everyone who reaches them may read them`,
    example: 'openssl rand -base64 32',
    secret: true,
  },
  lameDuckMs: {
    env: 'MILLRACE_LAME_DUCK_MS',
    schema: values.wholeNumber(0, 600_000).default(0),
    expected:
      'how long a process reports not ready and still serves before it drains, in milliseconds, 0 to 600000',
    example: '10000',
  },
  commit: {
    env: 'MILLRACE_COMMIT',
    schema: z
      .string()
      .regex(/^[0-9a-f]{7,64}$/, 'it is not a commit')
      .nullable()
      .default(null),
    expected: 'the commit of this release, if it does not run in a clone of the repository',
    example: 'b1946ac92492d2347c6235b4d2611184b1946ac9',
  },
});
