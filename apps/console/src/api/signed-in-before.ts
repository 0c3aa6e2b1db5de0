const storageKey = 'millrace.signed-in';

/** Whether this browser was signed in when it last asked, so that it need not ask before it loads the account. */
export const wasSignedIn = (): boolean => localStorage.getItem(storageKey) !== null;

export function setSignedIn(isSignedIn: boolean): void {
  if (isSignedIn) localStorage.setItem(storageKey, '1');
  else localStorage.removeItem(storageKey);
}
