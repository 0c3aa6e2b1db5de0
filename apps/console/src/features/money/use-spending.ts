import { nowMs } from '../../api/clock.ts';
import { useApiQuery } from '../../api/queries.ts';
import type { Balance } from './runway.ts';
import { monthStart, spendByDay, type SpendDay } from './spend.ts';

const dayMs = 86_400_000;
const daysShown = 31;

/** Shared by the overview and the balance page. */
export function useBalance(enabled = true) {
  return useApiQuery<Balance>(['money', 'balance'], (client, signal) => client.balance.get({}, { signal }), {
    refetchMs: 10_000,
    enabled,
  });
}

/** At least the current month and the last 31 days. */
export function useSpendDays(enabled = true) {
  return useApiQuery(
    ['money', 'spend-by-day'],
    async (client, signal): Promise<readonly SpendDay[]> => {
      const now = nowMs();
      const from = Math.min(monthStart(now), now - (daysShown - 1) * dayMs);
      const since = `${new Date(from).toISOString().slice(0, 10)}T00:00:00.000Z`;
      const rows = await client.usage.list({ groupBy: 'day', from: since, limit: 200 }, { signal }).all();
      return spendByDay(rows, from, now);
    },
    { refetchMs: 60_000, enabled },
  );
}
