import type { Item } from '@millrace/sdk';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { BrainCircuit } from 'lucide-react';
import { useSession } from '../../api/session.tsx';
import { SelectField } from '../../ui/field.tsx';
import { PageHeader } from '../../ui/page.tsx';
import { EmptyState, Loading, Note, QueryView } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { ChatPanel } from './chat-panel.tsx';
import { ImagePanel } from './image-panel.tsx';
import { chooseModel, type PlaygroundKind } from './search.ts';
import { SpeechPanel } from './speech-panel.tsx';
import { useCallableModels, useGateway } from './use-gateway.ts';
import { LinkButton } from '../../ui/link.tsx';

export type CallableModel = Item<'listModels'>;

const kindLabels: Readonly<Record<PlaygroundKind, string>> = {
  chat: 'chat',
  image: 'image',
  speech: 'speech',
};

export function PlaygroundPage() {
  const session = useSession();
  const search = useSearch({ from: '/shell/inside/playground' });
  const navigate = useNavigate();
  const denied = session.mayNot('inference:write') || session.mayNot('api-keys:write');
  const kind = search.kind ?? 'chat';
  const open = (id: string): void =>
    void navigate({ to: '/playground', search: { kind: id as PlaygroundKind } });
  return (
    <>
      <PageHeader title="Playground" about="Try a model, see its cost and speed, and copy the code." />
      {denied === false ? (
        <Tabs
          label="Model type"
          open={kind}
          onOpen={open}
          tabs={[
            { id: 'chat', label: 'Chat', content: () => <Panel kind="chat" /> },
            { id: 'image', label: 'Image', content: () => <Panel kind="image" /> },
            { id: 'speech', label: 'Speech', content: () => <Panel kind="speech" /> },
          ]}
        />
      ) : (
        <Note tone="warn">{denied}</Note>
      )}
    </>
  );
}

function Panel({ kind }: Readonly<{ kind: PlaygroundKind }>) {
  const { model: wanted } = useSearch({ from: '/shell/inside/playground' });
  const navigate = useNavigate();
  const gateway = useGateway();
  const models = useCallableModels();
  return (
    <QueryView query={models} what="models">
      {(all: readonly CallableModel[]) => {
        const { fitting, chosen } = chooseModel(all, kind, wanted);
        if (chosen === undefined) return <NoModels kind={kind} />;
        if (gateway === null) return <Loading what="the gateway" />;
        const select = (
          <SelectField
            label="Model"
            value={chosen.id}
            choices={fitting.map(({ id }) => ({ value: id, label: id }))}
            onValue={(value) => void navigate({ to: '/playground', search: { kind, model: value } })}
          />
        );
        const shared = { gateway, model: chosen, select };
        switch (kind) {
          case 'chat':
            return <ChatPanel {...shared} />;
          case 'image':
            return <ImagePanel {...shared} />;
          case 'speech':
            return <SpeechPanel {...shared} />;
        }
      }}
    </QueryView>
  );
}

function NoModels({ kind }: Readonly<{ kind: PlaygroundKind }>) {
  return (
    <EmptyState
      icon={BrainCircuit}
      title={`No ${kindLabels[kind]} models yet`}
      action={<LinkButton to="/models">Browse models</LinkButton>}
    >
      Models appear here when the operator adds them.
    </EmptyState>
  );
}
