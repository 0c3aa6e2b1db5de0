import { ConfigError } from '@millrace/platform/config';
import { installSignalHandlers } from '@millrace/platform/lifecycle';
import { startWorker } from './app.ts';
import { loadWorkerConfig } from './config.ts';

try {
  const { lifecycle, log } = await startWorker(loadWorkerConfig());
  installSignalHandlers(lifecycle, log);
} catch (error) {
  // Nothing can be logged before the settings are known, and a wrong setting is a message to a person.
  process.stderr.write(
    error instanceof ConfigError ? error.message : `The worker could not start: ${String(error)}\n`,
  );
  if (!(error instanceof ConfigError) && error instanceof Error)
    process.stderr.write(`${error.stack ?? ''}\n`);
  process.exitCode = 1;
}
