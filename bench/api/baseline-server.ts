import Fastify from 'fastify';
import { Pool } from 'pg';

/** Cost of framework and driver alone, as a process: one route returns a constant, one a row. */
const [port = '', databaseUrl = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: databaseUrl, max: 10 });
const server = Fastify({ logger: false });

server.get('/constant', async () => ({ ok: true, name: 'a short answer' }));
server.get('/row', async () => {
  const { rows } = await pool.query<{ id: string }>(
    'select id, name, slug, status, created_at from organisations where slug = $1',
    ['bare'],
  );
  return { organisation: rows[0] ?? null };
});
server.get('/readyz', async () => ({ ok: true }));
await server.listen({ host: '127.0.0.1', port: Number(port) });
