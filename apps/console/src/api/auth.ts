import { consoleHeaders } from './client.ts';
import { removeStoredAccount } from './stored-account.ts';
import { removeTabKeys } from './tab-keys.ts';

/** A refusal of the sign-in library below /auth. All other calls of the console are operations of the public API. */
export class SignInError extends Error {
  override name = 'SignInError';
  readonly status: number;
  /** Error code of the library, such as `EMAIL_NOT_VERIFIED`. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function field(body: unknown, name: string): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const value = (body as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

/** Calls the sign-in library. `path` is below /auth, such as `/sign-in/email`. */
export async function authCall<Output = unknown>(
  method: 'GET' | 'POST',
  path: string,
  body?: Readonly<Record<string, unknown>>,
): Promise<Output> {
  const response = await fetch(`/auth${path}`, {
    method,
    credentials: 'same-origin',
    headers: { ...consoleHeaders, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
  });
  const text = await response.text();
  const data: unknown = text === '' ? null : parse(text);
  if (response.ok) return data as Output;
  if (response.status === 429) {
    throw new SignInError(429, 'TOO_MANY_TRIES', 'Too many attempts. Wait a minute, then try again.');
  }
  const message =
    field(data, 'message') ?? `The service responded with status ${String(response.status)}. Try again.`;
  throw new SignInError(response.status, field(data, 'code') ?? 'UNKNOWN', message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Ends the session and removes the keys that the console created for this tab. */
export async function endSession(): Promise<void> {
  await authCall('POST', '/sign-out');
  removeStoredAccount();
  removeTabKeys(sessionStorage);
}
