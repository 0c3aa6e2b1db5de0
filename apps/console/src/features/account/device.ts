import type { authCall } from '../../api/auth.ts';

/** A code as it is kept, however it was typed: terminals show it in two halves. */
export function plainCode(typed: string): string {
  return typed.replaceAll(/[\s-]/g, '').toUpperCase();
}

/**
 * Lets a terminal in, or refuses it. Whoever asks for a code first is the one who decides on it, so it is asked for before,
 * also by a person who refuses.
 */
export async function decideOnCode(
  call: typeof authCall,
  typed: string,
  decision: 'approve' | 'deny',
): Promise<void> {
  const userCode = plainCode(typed);
  await call('GET', `/device?user_code=${encodeURIComponent(userCode)}`);
  await call('POST', `/device/${decision}`, { userCode });
}
