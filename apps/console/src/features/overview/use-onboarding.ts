import { useEffect, useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import type { ChecklistStep } from '../../ui/checklist.tsx';
import { dismiss, hasOwnKey, isComplete, isDismissed, onboardingSteps } from './onboarding.ts';

export interface Onboarding {
  readonly isLoading: boolean;
  /** Null if the checklist is done, dismissed, or not for this user. */
  readonly steps: readonly ChecklistStep[] | null;
  readonly onDismiss: () => void;
}

/** First steps after sign-up. Nothing is read once they are dismissed or done. */
export function useOnboarding(): Onboarding {
  const { place, me } = useSession();
  const { organisationId, mode } = place;
  const [dismissed, setDismissed] = useState<string | null>(null);
  // Only owners and admins set up an organisation; others join one that is set up.
  const isForUser = me.role === 'owner' || me.role === 'admin';
  const enabled = isForUser && dismissed !== organisationId && !isDismissed(localStorage, organisationId);
  const { isLoading, facts } = useFacts(enabled);
  const steps = facts === null ? null : onboardingSteps({ mode, ...facts });
  const isDone = steps !== null && isComplete(steps);
  useEffect(() => {
    // Later loads read nothing, because done steps stay done. Test mode does not set up live mode.
    if (isDone && mode === 'live') dismiss(localStorage, organisationId);
  }, [isDone, mode, organisationId]);
  return {
    isLoading,
    steps: enabled && !isDone ? steps : null,
    onDismiss: () => {
      dismiss(localStorage, organisationId);
      setDismissed(organisationId);
    },
  };
}

/** Under the keys of four resources, so that the event feed refreshes each when it changes. */
function useFacts(enabled: boolean) {
  const keys = useApiQuery(
    ['keys', 'any'],
    async (client, signal) => {
      const [apiKeys, sshKeys] = await Promise.all([
        client.keys.list({ limit: 20 }, { signal }),
        client.sshKeys.list({ limit: 1 }, { signal }),
      ]);
      return hasOwnKey(apiKeys.items, sshKeys.items);
    },
    { enabled },
  );
  const machine = useApiQuery(
    ['rentals', 'any'],
    async (client, signal) => {
      const pages = await Promise.all([
        client.rentals.list({ limit: 1 }, { signal }),
        client.rentals.listHistory({ limit: 1 }, { signal }),
        client.marketplace.instances.list({}, { signal }),
      ]);
      return pages.some(({ items }) => items.length > 0);
    },
    { enabled },
  );
  const money = useApiQuery(
    ['money', 'any'],
    async (client, signal) => (await client.ledger.list({ limit: 1 }, { signal })).items.length > 0,
    { enabled },
  );
  const request = useApiQuery(
    ['usage', 'any'],
    async (client, signal) =>
      (await client.usage.list({ groupBy: 'model', limit: 1 }, { signal })).items.length > 0,
    { enabled },
  );
  const known = [keys, machine, money, request].map(({ data }) => data);
  const [hasKey, hasMachine, hasMoney, hasRequest] = known;
  const isKnown =
    hasKey !== undefined && hasMachine !== undefined && hasMoney !== undefined && hasRequest !== undefined;
  return {
    isLoading: [keys, machine, money, request].some((query) => query.isLoading),
    facts: isKnown ? { hasKey, hasMachine, hasMoney, hasRequest } : null,
  };
}
