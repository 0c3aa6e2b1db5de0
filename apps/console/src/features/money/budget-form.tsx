import { useState, type FormEvent } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import {
  parseBudgetForm,
  toBudgetUpdate,
  consequences,
  emptyBudget,
  toBudgetFields,
  periods,
  type Budget,
  type BudgetFields,
  type OnExceeded,
  type BudgetIssues,
} from './budgets.ts';

const periodChoices = Object.entries(periods).map(([value, label]) => ({ value, label }));
const consequenceChoices = Object.entries(consequences).map(([value, { label }]) => ({ value, label }));

/** Makes a budget, or changes one; what it counts and its period stay as they were made. */
export function BudgetForm({
  budget,
  names,
  onClose,
}: {
  readonly budget?: Budget;
  readonly names: ReadonlyMap<string, string> | undefined;
  readonly onClose: () => void;
}) {
  const toast = useToast();
  const [fields, setFields] = useState<BudgetFields>(
    budget === undefined ? emptyBudget : toBudgetFields(budget),
  );
  const [problems, setProblems] = useState<BudgetIssues>({});
  const save = useApiMutation(
    (client, body: Parameters<typeof toBudgetUpdate>[0]): Promise<Budget> =>
      budget === undefined
        ? client.budgets.create(body)
        : client.budgets.update({ budgetId: budget.id, ...toBudgetUpdate(body) }),
    {
      changes: ['money'],
      onSuccess: ({ name }) => {
        toast(budget === undefined ? 'Budget created' : 'Budget changed', name);
        onClose();
      },
    },
  );
  const set = (change: Partial<BudgetFields>): void => setFields({ ...fields, ...change });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const made = parseBudgetForm(fields);
    setProblems('problems' in made ? made.problems : {});
    if ('body' in made) save.mutate(made.body);
  };
  const isNew = budget === undefined;
  return (
    <Dialog
      open
      onClose={onClose}
      title={isNew ? 'New budget' : `Change ${budget.name}`}
      about="What is held for work under way counts as spent."
    >
      <form onSubmit={submit} className="flex flex-col gap-3">
        <TextField
          label="Name"
          value={fields.name}
          maxLength={100}
          error={problems.name ?? fieldIssue(save.error, 'name')}
          onChange={(event) => set({ name: event.target.value })}
        />
        <TextField
          label="Limit in US dollars"
          inputMode="decimal"
          placeholder="500"
          value={fields.limit}
          error={problems.limit ?? fieldIssue(save.error, 'limitNanoUsd')}
          onChange={(event) => set({ limit: event.target.value })}
        />
        <SelectField
          label="For"
          value={fields.period}
          choices={periodChoices}
          disabled={!isNew}
          hint={isNew ? undefined : 'The period of a budget stays. Make a new one for another period.'}
          onChange={(event) => set({ period: event.target.value })}
        />
        <SelectField
          label="Counts"
          value={fields.keyId}
          choices={[
            { value: '', label: 'The whole organisation' },
            ...[...(names ?? [])].map(([value, name]) => ({ value, label: `Only the key ${name}` })),
          ]}
          disabled={!isNew}
          error={fieldIssue(save.error, 'keyId')}
          onChange={(event) => set({ keyId: event.target.value })}
        />
        <TextField
          label="Tell at these percentages"
          value={fields.thresholds}
          error={problems.thresholds ?? fieldIssue(save.error, 'thresholdsPercent')}
          onChange={(event) => set({ thresholds: event.target.value })}
        />
        <SelectField
          label="When it is used up"
          value={fields.onExceeded}
          choices={consequenceChoices}
          hint={consequences[fields.onExceeded as OnExceeded].about}
          onChange={(event) => set({ onExceeded: event.target.value })}
        />
        {save.error !== null && <Problem error={save.error} doing="save the budget" />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={save.isPending && 'Saving…'}>
            {isNew ? 'Create' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
