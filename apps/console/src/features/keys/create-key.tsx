import { scopes as scopeWords, type Scope } from '@millrace/contract/scopes';
import type { Output } from '@millrace/sdk';
import { useState } from 'react';
import { nowMs } from '../../api/clock.ts';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CheckboxField, SelectField, TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { emptyKey, expiries, parseKeyForm, type KeyFields, type KeyIssues } from './key-form.ts';
import { KeyLimitFields } from './key-limit-fields.tsx';
import { presetsFor, sameScopes, scopeGroups } from './scope-choice.ts';
import { Form, FormButtons } from '../../ui/form.tsx';

export function CreateKey({
  onClose,
  onMade,
}: Readonly<{ onClose: () => void; onMade: (made: Output<'createApiKey'>) => void }>) {
  const { may, place } = useSession();
  const [fields, setFields] = useState<KeyFields>(() => {
    const first = presetsFor(may).find(({ scopes }) => scopes.length > 0);
    return emptyKey(place.mode, first?.scopes ?? [], 'My key');
  });
  const [problems, setProblems] = useState<KeyIssues>({});
  const create = useApiMutation(
    (client, body: Parameters<typeof client.keys.create>[0]) => client.keys.create(body),
    { changes: ['keys', 'money'], onSuccess: onMade },
  );
  const set = (change: Partial<KeyFields>): void => setFields({ ...fields, ...change });
  const submit = (): void => {
    const made = parseKeyForm(fields, nowMs());
    setProblems('problems' in made ? made.problems : {});
    if ('body' in made) create.mutate(made.body);
  };
  return (
    <Dialog open onClose={onClose} title="New API key" about="The key is shown once, after you create it.">
      <Form onSend={submit} className="flex flex-col gap-4">
        <TextField
          label="Name"
          hint="Describe what uses the key, so that you know what stops working when you revoke it."
          value={fields.name}
          maxLength={100}
          error={problems.name ?? fieldIssue(create.error, 'name')}
          onValue={(name) => set({ name })}
        />
        <SelectField
          label="Mode"
          hint={
            place.mode === 'test'
              ? 'You are in test mode, so this is a test key.'
              : 'Test keys use simulated machines and models, and are free.'
          }
          value={fields.mode}
          disabled={place.mode === 'test'}
          choices={[
            { value: 'live', label: 'Live' },
            { value: 'test', label: 'Test' },
          ]}
          onValue={(mode) => set({ mode })}
        />
        <ScopeFields
          chosen={fields.scopes}
          error={problems.scopes ?? fieldIssue(create.error, 'scopes')}
          onChoose={(scopes) => set({ scopes })}
        />
        <SelectField
          label="Expires"
          value={fields.expires}
          choices={expiries}
          onValue={(expires) => set({ expires })}
        />
        <KeyLimitFields fields={fields} problems={problems} onSet={set} />
        {create.error !== null && <Problem error={create.error} doing="create the key" />}
        <FormButtons onClose={onClose} busy={create.isPending && 'Creating…'}>
          Create key
        </FormButtons>
      </Form>
    </Dialog>
  );
}

interface ScopeFieldsProps {
  readonly chosen: ReadonlySet<Scope>;
  readonly error: string | undefined;
  readonly onChoose: (scopes: ReadonlySet<Scope>) => void;
}

function ScopeFields({ chosen, error, onChoose }: ScopeFieldsProps) {
  const { may } = useSession();
  const toggle = (scope: Scope, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(scope);
    else next.delete(scope);
    onChoose(next);
  };
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="font-medium">Permissions</legend>
      <div className="flex flex-wrap gap-2">
        {presetsFor(may).map(({ id, label, about, scopes }) => (
          <Button
            key={id}
            size="small"
            title={about}
            aria-pressed={sameScopes(chosen, scopes)}
            kind={sameScopes(chosen, scopes) ? 'primary' : 'plain'}
            off={scopes.length === 0 && 'Your role has none of these permissions.'}
            onClick={() => onChoose(new Set(scopes))}
          >
            {label}
          </Button>
        ))}
      </div>
      {error !== undefined && (
        <div role="alert" className="text-bad text-xs">
          {error}
        </div>
      )}
      <details>
        <summary className="text-soft">
          {chosen.size === 1 ? '1 permission selected' : `${String(chosen.size)} permissions selected`};
          select individually
        </summary>
        {scopeGroups.map(({ label, scopes }) => {
          const own = scopes.filter(may);
          return own.length === 0 ? null : (
            <fieldset key={label} className="mt-3 flex flex-col gap-1.5">
              <legend className="text-soft text-xs">{label}</legend>
              {own.map((scope) => (
                <CheckboxField
                  key={scope}
                  label={scope}
                  hint={scopeWords[scope]}
                  checked={chosen.has(scope)}
                  onValue={(value) => toggle(scope, value)}
                />
              ))}
            </fieldset>
          );
        })}
      </details>
    </fieldset>
  );
}
