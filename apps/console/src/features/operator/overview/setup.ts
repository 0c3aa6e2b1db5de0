import type { ChecklistStep } from '../../../ui/checklist.tsx';

/** Steps from a new installation to a visible offer, derived from its data. */

export interface SetupFacts {
  readonly hasCluster: boolean;
  readonly hasPrice: boolean;
  readonly hasCredit: boolean;
  readonly hasOffer: boolean;
}

export function setupSteps(facts: SetupFacts): readonly ChecklistStep[] {
  return [
    {
      id: 'provider',
      title: 'Connect a provider',
      about: 'Add a cluster to a provider of live mode. Its nodes and GPUs are read from its engine.',
      isDone: facts.hasCluster,
      action: 'Add cluster',
      to: '/operator/providers',
    },
    {
      id: 'price',
      title: 'Set a GPU price',
      about: 'A GPU type is sold only at a price of the price list.',
      isDone: facts.hasPrice,
      action: 'Set price',
      to: '/operator/prices',
      hash: 'create',
    },
    {
      id: 'grant',
      title: 'Grant credit to an organisation',
      about: 'So that someone can rent before a payment provider is connected.',
      isDone: facts.hasCredit,
      action: 'Choose organisation',
      to: '/operator/organisations',
    },
    {
      id: 'publish',
      title: 'Publish the first offer',
      about: 'It appears in the catalog when a node with a price is ready and its region is enabled.',
      isDone: facts.hasOffer,
      action: 'View catalog',
      to: '/catalog',
    },
  ];
}
