import type { Context } from '../framework/context.ts';
import { CliError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';

/** Signs in from a terminal: the user confirms a code in a browser on any machine (RFC 8628). */

const CLIENT_ID = 'millrace-cli';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const SECOND_MS = 1_000;
/** The increase that RFC 8628 requires after `slow_down`; also used after no response. */
const SLOW_DOWN_MS = 5 * SECOND_MS;
const DEFAULT_INTERVAL_S = 5;
const MAX_INTERVAL_MS = 60 * SECOND_MS;
/** Upper limit of the wait, whatever the server returns. */
const MAX_WAIT_MS = 30 * 60 * SECOND_MS;

interface DeviceCode {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly address: string;
  readonly expiresMs: number;
  readonly intervalMs: number;
}

/** Requests a code, prints where to enter it, and waits. Returns the token of the confirmed session. */
export async function signInWithDeviceCode(context: Context, apiUrl: string): Promise<string> {
  const code = await requestDeviceCode(context, apiUrl);
  context.note('To sign in, open this address in a browser:');
  context.note(`  ${code.address}`);
  context.note(`and enter this code: ${code.userCode}`);
  context.note('Waiting for confirmation … (Ctrl-C to stop)');
  return pollForToken(context, apiUrl, code);
}

async function requestDeviceCode(context: Context, apiUrl: string): Promise<DeviceCode> {
  const { status, body } = await postJson(context, `${apiUrl}/auth/device/code`, { client_id: CLIENT_ID });
  if (status === 404) {
    throw new CliError('You cannot sign in here.', {
      why: `${apiUrl} does not offer sign-in, or is not a Millrace installation.`,
      fix: 'Log in with a key: millrace login --with-key',
    });
  }
  const { device_code: deviceCode, user_code: userCode, verification_uri: address } = body;
  const { expires_in: expires, interval } = body;
  if (
    status !== 200 ||
    typeof deviceCode !== 'string' ||
    typeof userCode !== 'string' ||
    typeof address !== 'string'
  ) {
    throw unexpectedResponseError(status, body);
  }
  return {
    deviceCode,
    userCode,
    address,
    expiresMs: Math.min(secondsOf(expires, MAX_WAIT_MS), MAX_WAIT_MS),
    intervalMs: secondsOf(interval, DEFAULT_INTERVAL_S * SECOND_MS),
  };
}

/** Polls no faster than allowed, and slower after `slow_down` or no response, to spare a restarted service. */
async function pollForToken(context: Context, apiUrl: string, code: DeviceCode): Promise<string> {
  const { clock, signal } = context;
  const endMs = clock.monotonicMs() + code.expiresMs;
  const request = { grant_type: GRANT_TYPE, device_code: code.deviceCode, client_id: CLIENT_ID };
  for (let intervalMs = code.intervalMs; ;) {
    if (clock.monotonicMs() + intervalMs > endMs) throw codeExpiredError();
    await clock.sleep(intervalMs, signal);
    const response = await postJson(context, `${apiUrl}/auth/device/token`, request).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        if (error instanceof TypeError) return null;
        throw error;
      },
    );
    const result = response === null ? 'slower' : parsePollResponse(response);
    if (typeof result === 'object') return result.token;
    if (result === 'slower') intervalMs = Math.min(intervalMs + SLOW_DOWN_MS, MAX_INTERVAL_MS);
  }
}

type PollResult = 'wait' | 'slower' | { readonly token: string };

function parsePollResponse({ status, body }: PostResponse): PollResult {
  const { access_token: token, error } = body;
  if (status === 200 && typeof token === 'string') return { token };
  if (error === 'authorization_pending') return 'wait';
  if (error === 'slow_down' || status === 429 || status >= 500) return 'slower';
  if (error === 'expired_token') throw codeExpiredError();
  if (error === 'access_denied') {
    throw new CliError('You declined the sign-in in the browser.', {
      why: 'The code was declined, so you are not signed in.',
      fix: 'To try again: millrace login',
      exitCode: exitCodes.auth,
    });
  }
  throw unexpectedResponseError(status, body);
}

function codeExpiredError(): CliError {
  return new CliError('The code has expired.', {
    why: 'It was not entered in time.',
    fix: 'Get a new code: millrace login',
    exitCode: exitCodes.auth,
  });
}

function unexpectedResponseError(status: number, body: PostResponse['body']): CliError {
  const detail = typeof body['error_description'] === 'string' ? ` ${body['error_description']}` : '';
  return new CliError('The sign-in service sent an unexpected response.', {
    why: `It responded with status ${String(status)}.${detail}`,
    fix: 'Try again, or log in with a key: millrace login --with-key',
  });
}

interface PostResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function postJson({ fetch, signal }: Context, url: string, body: object): Promise<PostResponse> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    // Codes must be sent only to this address, so redirects are refused.
    redirect: 'error',
    signal,
  });
  const parsed: unknown = await response.json().catch(() => ({}));
  const isRecord = typeof parsed === 'object' && parsed !== null;
  return { status: response.status, body: isRecord ? (parsed as PostResponse['body']) : {} };
}

function secondsOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value > 0 ? value * SECOND_MS : otherwise;
}
