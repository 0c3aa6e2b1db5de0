import { isIP } from 'node:net';
import { z } from 'zod';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { isLoopback } from '../net/loopback.ts';
import { values } from './values.ts';

const domain = /^(?=.{1,189}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/;

/** The domain of hostnames. Separate from Caddy's settings, because processes that show hostnames need it too. */
export const namesConfig = fragment('names', {
  domain: {
    env: 'MILLRACE_MARKETPLACE_DOMAIN',
    schema: z.string().regex(domain, 'it is not a lowercase domain').nullable().default(null),
    expected:
      'the domain below which ports of marketplace instances get HTTPS hostnames; without it they get none',
    example: 'run.example.com',
  },
});

const socket = /^unix\/(\/[^|]+)(\|0?[0-7]{3})?$/;

/** Parses an address of the admin API in Caddy's notation; null if it is neither a socket nor a loopback address. */
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
        'it is neither a loopback address with a port nor a socket: the admin API must not be reachable from other hosts',
      )
      .nullable()
      .default(null),
    expected:
      "the admin API of Caddy in Caddy's notation: a socket, or a loopback address with its port; without it Caddy serves no hostnames",
    example: 'unix//run/caddy/admin.sock|0660',
  },
  listen: {
    env: 'MILLRACE_CADDY_LISTEN',
    schema: values.text.default(':443'),
    expected: "the address on which Caddy serves hostnames, in Caddy's notation",
    example: ':443',
  },
  certificateFile: {
    env: 'MILLRACE_CADDY_CERTIFICATE_FILE',
    schema: optionalFile,
    expected: 'the path, as Caddy sees it, of the PEM certificate for all hostnames below the domain',
    example: '/etc/millrace/names.pem',
  },
  keyFile: {
    env: 'MILLRACE_CADDY_KEY_FILE',
    schema: optionalFile,
    expected: 'the path, as Caddy sees it, of the PEM private key of that certificate',
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
  const problem = 'is not set; Caddy needs the certificate and its key to serve hostnames';
  return [
    ...(certificateFile === null ? [{ env: caddyVariables.certificateFile.env, problem }] : []),
    ...(keyFile === null ? [{ env: caddyVariables.keyFile.env, problem }] : []),
  ];
}

export const caddyConfig = fragment('caddy', caddyVariables, checkCaddy);
