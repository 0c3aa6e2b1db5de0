import type { authCall } from '../../api/auth.ts';

/** Normalises typed codes: terminals show a code in two halves. */
export function normaliseCode(typed: string): string {
  return typed.replaceAll(/[\s-]/g, '').toUpperCase();
}

export interface DeviceOrigin {
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly at: string;
}

/** Looks up a code and binds it to this user, who alone can then decide on it. */
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

export async function approveOrDenyCode(
  call: typeof authCall,
  code: string,
  decision: 'approve' | 'deny',
): Promise<void> {
  await call('POST', `/device/${decision}`, { userCode: code });
}
