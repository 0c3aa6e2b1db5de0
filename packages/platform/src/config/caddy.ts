import { isIP } from 'node:net';
import { z } from 'zod';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { isLoopback } from '../net/loopback.ts';
import { values } from './values.ts';

const domain = /^(?=.{1,189}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/;

/** The domain below which ports of marketplace instances have names. Whoever shows such a name has to know it. */
export const namesConfig = fragment('names', {
  domain: {
    env: 'MILLRACE_MARKETPLACE_DOMAIN',
    schema: z.string().regex(domain, 'it is not a domain in small letters').nullable().default(null),
    expected:
      'the domain below which ports of marketplace instances have HTTPS names; without one they have none',
    example: 'run.example.com',
  },
});

const socket = /^unix\/(\/[^|]+)(\|0?[0-7]{3})?$/;

/** Where the admin API of Caddy is reached, by how Caddy writes it. */
export function caddyAddress(
  text: string,
): { readonly socketPath: string } | { readonly host: string; readonly port: number } | null {
  const [, socketPath] = socket.exec(text) ?? [];
  if (socketPath !== undefined) return { socketPath };
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || port === undefined) return null;
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) !== 0 && isLoopback(bare) ? { host: bare, port: Number(port) } : null;
}

const optionalFile = values.text.nullable().default(null);

const caddyVariables = {
  admin: {
    env: 'MILLRACE_CADDY_ADMIN',
    schema: z
      .string()
      .refine(
        (text) => caddyAddress(text) !== null,
        'it is neither a loopback address with a port nor a socket: whoever reaches it can do everything',
      )
      .nullable()
      .default(null),
    expected:
      'where the admin API of Caddy is, as Caddy writes it: a socket, or a loopback address with its port; without it nobody serves names',
    example: 'unix//run/caddy/admin.sock|0660',
  },
  listen: {
    env: 'MILLRACE_CADDY_LISTEN',
    schema: values.text.default(':443'),
    expected: 'where Caddy serves names, as Caddy writes it',
    example: ':443',
  },
  certificateFile: {
    env: 'MILLRACE_CADDY_CERTIFICATE_FILE',
    schema: optionalFile,
    expected: 'the file with the certificate for all names below the domain, in PEM, as Caddy sees it',
    example: '/etc/millrace/names.pem',
  },
  keyFile: {
    env: 'MILLRACE_CADDY_KEY_FILE',
    schema: optionalFile,
    expected: 'the file with the private key of that certificate, in PEM, as Caddy sees it',
    example: '/etc/millrace/names.key',
  },
} as const;

interface CaddyValues {
  readonly admin: string | null;
  readonly certificateFile: string | null;
  readonly keyFile: string | null;
}

function checkCaddy({ admin, certificateFile, keyFile }: CaddyValues): readonly ConfigProblem[] {
  if (admin === null) return [];
  const problem = 'it is missing, and Caddy serves no name without a certificate';
  return [
    ...(certificateFile === null ? [{ env: caddyVariables.certificateFile.env, problem }] : []),
    ...(keyFile === null ? [{ env: caddyVariables.keyFile.env, problem }] : []),
  ];
}

/** The Caddy that serves the names, for whoever writes its configuration. */
export const caddyConfig = fragment('caddy', caddyVariables, checkCaddy);
