/** The format of a key, so that a wrong paste is found before anything is sent. */
export const keyPattern = /^mr_(?<mode>live|test)_[A-Za-z0-9_]{8,}$/;

export function keyMode(key: string): string {
  return keyPattern.exec(key)?.groups?.['mode'] ?? 'unknown';
}
