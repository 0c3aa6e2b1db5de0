import type { Item } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { BrainCircuit } from 'lucide-react';
import { nowMs } from '../../../api/clock.ts';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card, DescriptionList, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { Deployments } from './deployments.tsx';
import { CreateModel, EditModel, SwitchModel } from './model-forms.tsx';
import { modelHealth } from '../common/model-health.ts';
import { modelAvailability, modelPrices, needsPrice } from './model-summary.ts';
import { operatorPage } from '../common/operator-page.tsx';
import { modelUnitLabels, shownPrice, type Price } from '../prices/price-form.ts';
import { AddPrice } from '../prices/add-price.tsx';
import { OrganisationLink } from '../common/organisation-name.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/models');

type Model = Item<'adminListModels'>;
type Deployment = Item<'adminListDeployments'>;

export const ModelCatalogPage = operatorPage('Model catalog', ModelCatalog);

/** Reads models, deployments and prices together, because the page relates them. */
function useCatalog() {
  return useApiQuery(
    ['admin', 'model-catalog'],
    async (client, signal) => {
      const [models, deployments, prices] = await Promise.all([
        client.admin.models.list({ limit: 200 }, { signal }).all(),
        client.admin.deployments.list({ limit: 200 }, { signal }).all(),
        client.admin.prices.list({ at: new Date(nowMs()).toISOString(), limit: 200 }, { signal }).all(),
      ]);
      return { models, deployments, prices };
    },
    { refetchMs: 5_000 },
  );
}

function ModelCatalog() {
  const catalog = useCatalog();
  const { model: open } = route.useSearch();
  return (
    <>
      <PageHeader
        title="Model catalog"
        about="Tenants can call a model when an engine serves it and it has a price."
        actions={<CreateModel />}
      />
      <QueryView query={catalog} what="model catalog">
        {({ models, deployments, prices }) => {
          const chosen = models.find(({ name }) => name === open);
          return (
            <>
              <Card flush>
                <ModelTable models={models} deployments={deployments} prices={prices} />
              </Card>
              {chosen !== undefined && (
                <ModelDetail model={chosen} prices={modelPrices(prices, chosen.name)} />
              )}
              {open !== undefined && chosen === undefined && <Note tone="warn">No model named {open}.</Note>}
              <Deployments
                models={models}
                deployments={
                  chosen === undefined
                    ? deployments
                    : deployments.filter(({ model }) => model === chosen.name)
                }
                of={chosen?.name}
              />
            </>
          );
        }}
      </QueryView>
      <CommandHint command="millrace admin model list" />
    </>
  );
}

function ModelTable({
  models,
  deployments,
  prices,
}: Readonly<{ models: readonly Model[]; deployments: readonly Deployment[]; prices: readonly Price[] }>) {
  if (models.length === 0) {
    return (
      <EmptyState icon={BrainCircuit} title="No models yet">
        Add a model, register an engine that serves it (vLLM, SGLang, llama.cpp or any OpenAI-compatible
        server), and set its price. Tenants then see it in the model list.
      </EmptyState>
    );
  }
  const columns: readonly Column<Model>[] = [
    {
      head: 'Model',
      main: true,
      cell: ({ name, mode, ownedBy }) => (
        <>
          <TextLink to="/operator/models" search={{ model: name }} className="break-all">
            {name}
          </TextLink>{' '}
          {mode === 'test' && <Badge>test</Badge>}
          <span className="text-soft block text-xs font-normal">{ownedBy}</span>
        </>
      ),
    },
    { head: 'Type', cell: ({ modality }) => modality },
    {
      head: 'Callable by tenants',
      cell: (model) => {
        const { tone, words } = modelAvailability(
          model,
          deployments.filter(({ model: of }) => of === model.name),
          modelPrices(prices, model.name),
        );
        return (
          <>
            <Badge tone={tone}>{words}</Badge>
            {model.visibleTo !== null && (
              <span className="text-soft block text-xs">by {model.visibleTo.length} organisations only</span>
            )}
          </>
        );
      },
    },
    {
      head: 'Engines',
      cell: ({ name }) => {
        const { tone, words } = modelHealth(deployments.filter(({ model }) => model === name));
        return <Badge tone={tone}>{words}</Badge>;
      },
    },
    { head: 'Price', cell: (model) => <PriceLines model={model} prices={modelPrices(prices, model.name)} /> },
    { head: 'Actions', cell: (model) => <SwitchModel model={model} /> },
  ];
  return <Table caption="Models" columns={columns} rows={models} rowKey={({ name }) => name} />;
}

function PriceLines({ model, prices }: Readonly<{ model: Model; prices: readonly Price[] }>) {
  if (prices.length === 0) {
    return needsPrice(model) ? <Badge tone="warn">no price</Badge> : 'default price';
  }
  return (
    <>
      {prices.map((price) => {
        const { nano, per } = shownPrice(price);
        return (
          <span key={price.id} className="block">
            <Money nano={nano} />{' '}
            <span className="text-soft text-xs">
              {price.subject.kind === 'model' && modelUnitLabels[price.subject.unit]}, {per}
            </span>
          </span>
        );
      })}
    </>
  );
}

function ModelDetail({ model, prices }: Readonly<{ model: Model; prices: readonly Price[] }>) {
  return (
    <Card
      title={model.name}
      actions={
        <>
          <AddPrice
            label={prices.length === 0 ? 'Set price' : 'Change price'}
            size="small"
            now={prices}
            organisationId={null}
            start={{ kind: 'model', model: model.name }}
          />
          <EditModel key={model.updatedAt} model={model} />
          <TextLink to="/operator/models" search={{}} className="self-center">
            Close
          </TextLink>
        </>
      }
    >
      <DescriptionList
        items={[
          ['Context', model.contextLength === null ? 'not set' : `${String(model.contextLength)} tokens`],
          [
            'Max output',
            model.maxOutputTokens === null ? 'not set' : `${String(model.maxOutputTokens)} tokens`,
          ],
          ['Input', model.inputModalities.join(', ')],
          ['Aliases', model.aliases.length === 0 ? 'none' : model.aliases.join(', ')],
          ['Fallbacks', model.fallbacks.length === 0 ? 'none' : model.fallbacks.join(', then ')],
          [
            'Requests per minute',
            model.requestsPerMinute === null
              ? 'no limit'
              : `${String(model.requestsPerMinute)} per organisation`,
          ],
          [
            'Visible to',
            model.visibleTo === null ? (
              'all organisations'
            ) : (
              <span key="organisations" className="flex flex-wrap gap-x-3">
                {model.visibleTo.map((id) => (
                  <OrganisationLink key={id} id={id} />
                ))}
              </span>
            ),
          ],
          ['Price', <PriceLines key="price" model={model} prices={prices} />],
        ]}
      />
    </Card>
  );
}
