import type { authCall } from '../../api/auth.ts';

/** A code as it is kept, however it was typed: terminals show it in two halves. */
export function normaliseCode(typed: string): string {
  return typed.replaceAll(/[\s-]/g, '').toUpperCase();
}

/** Where a request to sign a program in came from, as far as it is known. */
export interface DeviceOrigin {
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly at: string;
}

/** Looks a code up; its person is then the only one who can decide on it. */
export async function findCode(
  call: typeof authCall,
  typed: string,
): Promise<{ readonly code: string; readonly requestedFrom: DeviceOrigin | null }> {
  const code = normaliseCode(typed);
  const found = await call<{ requestedFrom?: DeviceOrigin } | null>(
    'GET',
    `/device?user_code=${encodeURIComponent(code)}`,
  );
  return { code, requestedFrom: found?.requestedFrom ?? null };
}

/** Lets a terminal in, or refuses it. `code` was looked up before. */
export async function approveOrDenyCode(
  call: typeof authCall,
  code: string,
  decision: 'approve' | 'deny',
): Promise<void> {
  await call('POST', `/device/${decision}`, { userCode: code });
}
