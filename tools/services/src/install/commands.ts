import { run } from '../processes.ts';

/** Whether the command is in PATH. */
export async function isInstalled(command: string): Promise<boolean> {
  const finished = await run('sh', ['-c', 'command -v "$1"', 'sh', command]);
  return finished.code === 0;
}
