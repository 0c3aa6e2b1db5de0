import { join } from 'node:path';

export { demoProviders, demoStorage } from './fleet.ts';

/** Written by `npm run demo:generate`. */
export const demoHistoryFile = join(import.meta.dirname, '..', '..', '..', 'db', 'demo', 'history.jsonl.gz');
