import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Button, type ButtonKind } from '../ui/button.tsx';
import { CodeBlock, CommandHint, Id } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { CheckboxField, FilterField, SelectField, TextArea, TextField } from '../ui/field.tsx';
import { Form, FormButtons } from '../ui/form.tsx';
import { LinkButton, TextLink } from '../ui/link.tsx';
import { Reasons } from '../ui/reasons.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { useToast } from '../ui/toast.tsx';
import { Example, Section } from './section.tsx';

const kinds: readonly ButtonKind[] = ['primary', 'plain', 'quiet', 'danger'];

export function ControlExamples() {
  return (
    <Section title="Controls">
      <Buttons />
      <Fields />
      <Overlays />
      <Example name="Id, CodeBlock, CommandHint">
        <div className="flex flex-col gap-3">
          <Id value="rental_4211" what="rental id" />
          <CodeBlock code="ssh root@203.0.113.7" what="SSH command" label="SSH" />
          <CommandHint command="millrace rentals list --status running" />
        </div>
      </Example>
    </Section>
  );
}

function Buttons() {
  return (
    <>
      {kinds.map((kind) => (
        <Example key={kind} name={`Button, ${kind}: normal, with icon, small, busy, off`}>
          <div className="flex flex-wrap items-center gap-2">
            <Button kind={kind}>Create</Button>
            <Button kind={kind} icon={<Plus aria-hidden className="size-4" />}>
              Create
            </Button>
            <Button kind={kind} size="small">
              Create
            </Button>
            <Button kind={kind} busy="Creating…">
              Create
            </Button>
            <Button kind={kind} off="Your role does not include this.">
              Create
            </Button>
          </div>
        </Example>
      ))}
      <Example name="Reasons: why buttons are off, as text">
        <Reasons named>
          <div className="flex flex-wrap items-center gap-2">
            <Button off="Your role does not include this.">Edit</Button>
            <Button kind="danger" off="The volume is attached to a rental. Detach it first.">
              Delete
            </Button>
          </div>
        </Reasons>
      </Example>
      <Example name="LinkButton, TextLink">
        <div className="flex flex-wrap items-center gap-3">
          <LinkButton to="/rentals" kind="primary">
            Open rentals
          </LinkButton>
          <TextLink to="/rentals">Open rentals</TextLink>
        </div>
      </Example>
    </>
  );
}

function Fields() {
  const [filter, setFilter] = useState<string>();
  return (
    <Example name="Fields: normal, hint, error, disabled">
      <Form className="grid max-w-3xl gap-4 sm:grid-cols-2">
        <TextField label="Name" defaultValue="train-1" />
        <TextField label="Name with hint" hint="Letters, digits and dashes." placeholder="train-1" />
        <TextField label="Name with error" defaultValue="Train 1" error="Use letters, digits and dashes." />
        <TextField label="Name, disabled" defaultValue="train-1" disabled />
        <SelectField label="Region" choices={['eu-north', 'us-east']} defaultValue="eu-north" />
        <FilterField
          label="Status"
          all="All"
          value={filter}
          choices={['running', 'stopped']}
          onValue={setFilter}
        />
        <TextArea label="Note" rows={2} defaultValue="Two lines" />
        <CheckboxField label="Enable monitoring" hint="Samples every 30 seconds." defaultChecked />
        <div className="sm:col-span-2">
          <FormButtons onClose={() => undefined}>Save</FormButtons>
        </div>
      </Form>
    </Example>
  );
}

function Overlays() {
  const [tab, setTab] = useState('one');
  const [isOpen, setOpen] = useState(false);
  const toast = useToast();
  return (
    <>
      <Example name="Tabs">
        <Tabs
          label="Example"
          open={tab}
          onOpen={setTab}
          tabs={[
            { id: 'one', label: 'Overview', content: () => 'Overview' },
            { id: 'two', label: 'Metrics', content: () => 'Metrics' },
          ]}
        />
      </Example>
      <Example name="Dialog, toast">
        <div className="flex gap-2">
          <Button onClick={() => setOpen(true)}>Open dialog</Button>
          <Button onClick={() => toast('Volume created', 'It is billed from now.')}>Show toast</Button>
        </div>
        <Dialog title="Create volume" about="Billed by the hour" open={isOpen} onClose={() => setOpen(false)}>
          <p>The content scrolls if it is higher than the screen.</p>
        </Dialog>
      </Example>
    </>
  );
}
