import { productFolder } from '@millrace/platform/release';
import { join } from 'node:path';

export { demoProviders, demoStorage } from './fleet.ts';

/** Written by `npm run demo:generate`. */
export const demoHistoryFile = join(productFolder, 'db', 'demo', 'history.jsonl.gz');
