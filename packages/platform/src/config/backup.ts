import { isAbsolute } from 'node:path';
import { engineTls } from './engine-tls.ts';
import { fragment } from './fragment.ts';
import { values } from './values.ts';

export const backupConfig = fragment('backup', {
  folder: {
    env: 'MILLRACE_BACKUP_FOLDER',
    schema: values.text.refine(isAbsolute, 'it is not an absolute path').default('/var/backups/millrace'),
    expected: 'the absolute path of the folder with backups of the database',
    example: '/var/backups/millrace',
  },
  /** Programs of PostgreSQL take a path instead of certificates. */
  caFile: { ...engineTls.ca, schema: values.text.nullable().default(null) },
});
