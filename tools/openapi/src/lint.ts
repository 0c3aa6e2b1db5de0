import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { documentNames } from '@millrace/contract/openapi';
import { documentFile, root } from './documents.ts';

/** Runs Redocly's linter on the committed documents with the rules of redocly.yaml, without network access. */
export function lint(): number {
  const files = documentNames.map((name) => documentFile(name));
  const cli = join(root, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js');
  const { status, error } = spawnSync(process.execPath, [cli, 'lint', ...files, '--format=stylish'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  if (error !== undefined) throw error;
  return status ?? 1;
}
