import { request } from 'node:http';
import type { CaddyConfig } from './caddy-config.ts';

/** Replaces Caddy's configuration only if it is unchanged, so that older data cannot undo a newer write. */

export type CaddyAddress = { readonly socketPath: string } | { readonly host: string; readonly port: number };

export interface CaddyAdmin {
  read(signal: AbortSignal): Promise<RunningConfig>;
  /** Returns false if another writer replaced it meanwhile. */
  replace(config: CaddyConfig, was: RunningConfig, signal: AbortSignal): Promise<boolean>;
}

export interface RunningConfig {
  readonly config: unknown;
  readonly etag: string;
}

const OK = 200;
const PRECONDITION_FAILED = 412;
const CONFIG_PATH = '/config/';
const ERROR_BODY_MAX = 1_000;

interface Reply {
  readonly status: number;
  readonly etag: string | undefined;
  readonly body: string;
}

export function createCaddyAdmin(address: CaddyAddress): CaddyAdmin {
  return {
    read: async (signal) => {
      const { status, etag, body } = await sendCaddyRequest(address, { method: 'GET' }, signal);
      if (status !== OK || etag === undefined) throw caddyError('return its configuration', status, body);
      return { config: JSON.parse(body) as unknown, etag };
    },
    replace: async (config, { etag }, signal) => {
      const request = { method: 'POST', body: JSON.stringify(config), ifMatch: etag };
      const { status, body } = await sendCaddyRequest(address, request, signal);
      if (status === PRECONDITION_FAILED) return false;
      if (status !== OK) throw caddyError('load a configuration', status, body);
      return true;
    },
  };
}

function caddyError(what: string, status: number, body: string): Error {
  return new Error(`Caddy did not ${what}: it answered ${status} ${body.trim().slice(0, ERROR_BODY_MAX)}`);
}

interface CaddyRequest {
  readonly method: string;
  readonly body?: string;
  readonly ifMatch?: string;
}

function sendCaddyRequest(address: CaddyAddress, spec: CaddyRequest, signal: AbortSignal): Promise<Reply> {
  // Over a socket, Caddy accepts only calls without a host. Raw headers prevent Node from adding one.
  const host = 'socketPath' in address ? '' : hostOf(address);
  const headers = ['Host', host];
  if (spec.ifMatch !== undefined) headers.push('If-Match', spec.ifMatch);
  if (spec.body !== undefined) {
    headers.push('Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(spec.body)));
  }
  return new Promise((resolve, reject) => {
    const call = request(
      // Caddy reopens its admin address with each configuration, so connections are not reused.
      { ...address, path: CONFIG_PATH, method: spec.method, setHost: false, headers, signal, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const { etag = response.trailers['etag'] } = response.headers;
          resolve({ status: response.statusCode ?? 0, etag, body: Buffer.concat(chunks).toString('utf8') });
        });
      },
    );
    call.once('error', reject);
    call.end(spec.body);
  });
}

function hostOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
