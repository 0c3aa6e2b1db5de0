import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderSizes } from '../src/table-growth.ts';

// Computes the sizes in the page of table growth again.
const page = join(import.meta.dirname, '../../../docs/explanation/table-growth.md');
writeFileSync(page, renderSizes(readFileSync(page, 'utf8')));
