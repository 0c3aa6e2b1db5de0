import { spawn } from 'node:child_process';
import { createRawClient } from './raw-client.ts';
import { startUpstreamDouble, startBare } from './sides.ts';
import { readFileSync } from 'node:fs';
const direct = await startUpstreamDouble();
const bare = await startBare(direct);
const prof = process.argv[2] === 'prof';
const gw = spawn(
  process.execPath,
  [...(prof ? ['--cpu-prof', '--cpu-prof-dir=/tmp/gwprof'] : []), 'bench/gateway/zz-gw.ts', direct.url],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const info = await new Promise<any>((r) => gw.stdout.once('data', (d) => r(JSON.parse(String(d)))));
const cpu = (pid: number) => {
  const p = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(p[11]) + Number(p[12])) * 10_000;
};
async function run(name: string, pid: number, url: string, headers: any, stream: boolean, n: number) {
  const body = {
    model: 'double',
    messages: [
      { role: 'system', content: 'You are a helpful assistant who answers in a few words.' },
      {
        role: 'user',
        content: `What does the mill by the river do all day? pace=${stream ? 2 : 0} chunks=${stream ? 64 : 0}`,
      },
    ],
    temperature: 0.7,
    max_tokens: 1024,
    stream,
  };
  const c = createRawClient({ url, path: '/v1/chat/completions', headers, body });
  let left = n;
  const b = cpu(pid);
  const t = Date.now();
  await Promise.all(
    Array.from({ length: stream ? 32 : 16 }, async () => {
      while (left-- > 0) {
        const s = await c.ask();
        if (s.status !== 200) throw new Error(String(s.status));
      }
    }),
  );
  const us = (cpu(pid) - b) / n;
  c.close();
  console.log(
    name,
    stream ? 'stream' : 'json',
    us.toFixed(0),
    'us',
    (((Date.now() - t) / n) * 1000).toFixed(0),
    'wall us',
  );
  return us;
}
const sides: [string, number, string, any][] = [
  ['bare', bare.pid, bare.url, {}],
  ['gw', gw.pid!, info.url, { authorization: `Bearer ${info.key}` }],
];
for (const s of sides) await run(s[0], s[1], s[2], s[3], false, 3000);
for (const s of sides) await run(s[0], s[1], s[2], s[3], true, 300);
for (let i = 0; i < 2; i++) {
  for (const s of sides) await run(s[0], s[1], s[2], s[3], false, 6000);
  for (const s of sides) await run(s[0], s[1], s[2], s[3], true, 600);
}
gw.kill('SIGTERM');
await new Promise((r) => gw.once('exit', r));
await bare[Symbol.asyncDispose]();
await direct[Symbol.asyncDispose]();
process.exit(0);
