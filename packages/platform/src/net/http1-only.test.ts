import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

it('every undici client disables HTTP/2, with which a dying server can block the process forever', async () => {
  const counts: Record<string, readonly [clients: number, restricted: number]> = {};
  for await (const file of glob('{packages,apps}/*/src/**/*.ts', { cwd: root })) {
    const text = readFileSync(`${root}${file}`, 'utf8');
    if (!text.includes("from 'undici'")) continue;
    // Other functions and classes of undici may create their own client, with HTTP/2.
    const imported = text.match(/import \{([^}]*)\} from 'undici'/)?.[1]?.split(',') ?? [];
    const values = imported.map((name) => name.trim()).filter((name) => !name.startsWith('type '));
    for (const name of values) expect(['Pool', 'Agent', 'Client', 'errors'], file).toContain(name);
    const clients = text.match(/new (?:Pool|Agent|Client)\(/g)?.length ?? 0;
    if (clients > 0) counts[file] = [clients, text.match(/\ballowH2: false\b/g)?.length ?? 0];
  }
  expect(Object.keys(counts).length).toBeGreaterThan(4);
  for (const [file, [clients, restricted]] of Object.entries(counts)) expect(restricted, file).toBe(clients);
});
