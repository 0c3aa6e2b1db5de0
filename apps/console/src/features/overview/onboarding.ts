import type { Item } from '@millrace/sdk';
import type { ChecklistStep } from '../../ui/checklist.tsx';
import { playgroundKeyName } from '../playground/gateway.ts';

/** First steps of an organisation, derived from its data. */

export interface OnboardingFacts {
  readonly mode: 'live' | 'test';
  readonly hasKey: boolean;
  readonly hasMoney: boolean;
  readonly hasMachine: boolean;
  readonly hasRequest: boolean;
}

/** The console creates the keys of the playground itself. */
export function hasOwnKey(
  keys: readonly Pick<Item<'listApiKeys'>, 'name'>[],
  sshKeys: readonly unknown[],
): boolean {
  return sshKeys.length > 0 || keys.some(({ name }) => name !== playgroundKeyName);
}

export function onboardingSteps(facts: OnboardingFacts): readonly ChecklistStep[] {
  const isTest = facts.mode === 'test';
  // Without money, machines and models can be tried out for free in test mode.
  const isTrial = !isTest && !facts.hasMoney;
  return [
    {
      id: 'key',
      title: 'Create a key',
      about: 'An API key for programs and the CLI, or an SSH key to sign in to machines.',
      isDone: facts.hasKey,
      action: 'Create key',
      to: '/keys',
    },
    {
      id: 'money',
      title: isTest ? 'Use test mode: everything is free' : 'Add money',
      about: 'Needed in live mode only. In test mode, everything is simulated and free.',
      isDone: isTest || facts.hasMoney,
      action: 'Add money',
      to: '/money',
    },
    {
      id: 'machine',
      title: 'Rent your first machine',
      about: 'It is ready in about a minute and billed by the second.',
      isDone: facts.hasMachine,
      ...(isTrial
        ? { action: 'Rent a free test machine', to: '/rent', isTrial }
        : { action: 'Browse catalog', to: '/catalog' }),
    },
    ...(isTest ? [] : [requestStep(facts.hasRequest, isTrial)]),
  ];
}

/** Not in test mode, whose free requests leave no usage that would complete it. */
function requestStep(isDone: boolean, isTrial: boolean): ChecklistStep {
  return {
    id: 'request',
    title: 'Send your first model request',
    about: 'Try a model in the playground, or call it with your API key.',
    isDone,
    ...(isTrial
      ? { action: 'Try a model for free', to: '/playground', isTrial }
      : { action: 'Open playground', to: '/playground' }),
  };
}

export const isComplete = (steps: readonly ChecklistStep[]): boolean => steps.every(({ isDone }) => isDone);

const storageKey = (organisationId: string): string => `millrace.onboarding ${organisationId}`;

/** Dismissed or completed in this browser. */
export function isDismissed(storage: Pick<Storage, 'getItem'>, organisationId: string): boolean {
  return storage.getItem(storageKey(organisationId)) !== null;
}

export function dismiss(storage: Pick<Storage, 'setItem'>, organisationId: string): void {
  try {
    storage.setItem(storageKey(organisationId), 'dismissed');
  } catch {
    // Storage is full or disabled: the checklist appears again.
  }
}
