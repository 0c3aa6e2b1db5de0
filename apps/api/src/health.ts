import type { HttpServer } from '@millrace/platform/http';
import type { Lifecycle } from '@millrace/platform/lifecycle';

/**
 * For whoever keeps the process alive and whoever sends it traffic. Live: it answers at all; restart it when not.
 * Ready: it can do its work now; send requests elsewhere when not. Neither is part of the API, so neither needs a key.
 */
export function serveHealth(server: HttpServer, lifecycle: Lifecycle): void {
  server.fastify.get('/healthz', async (_request, answer) => {
    const live = lifecycle.live();
    return answer.code(live ? 200 : 503).send({ live, state: lifecycle.state });
  });
  server.fastify.get('/readyz', async (_request, answer) => {
    const report = await lifecycle.ready();
    return answer.code(report.ready ? 200 : 503).send(report);
  });
}
