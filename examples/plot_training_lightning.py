"""
Stop and keep by agreement in Lightning
=======================================

A Lightning module logs posterior agreement like any other metric; `EarlyStopping` ends the training when it
stops rising, and `ModelCheckpoint` keeps the weights of the best epoch. Validation needs no labels.
"""

import logging
import tempfile
import warnings

import matplotlib.pyplot as plt
import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from shiftmetrics.adapters.torchmetrics import PosteriorAgreement

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")
seed_everything(0, verbose=False)

# %%
# Training images have labels; validation images come in pairs, noisy and clean, without.
images, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
images = (images / 16).float()
noisy = images + 0.4 * torch.randn(images.shape)
train = DataLoader(TensorDataset(images[:500], labels[:500]), batch_size=50, shuffle=True)
pairs = DataLoader(TensorDataset(noisy[500:], images[500:]), batch_size=256)


# %%
# The metric is an attribute of the module, so Lightning moves it to the device, merges it over processes, and resets
# it after each epoch. With the predicted prior a network that has collapsed cannot win.
class Digits(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.agreement = PosteriorAgreement(num_classes=10, exact=True, prior="predicted")
        self.history: list[float] = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.network(x), y)

    def validation_step(self, batch, batch_idx):
        shifted, original = batch
        self.agreement.update(self.network(shifted), self.network(original))
        self.log("val_agreement", self.agreement, on_step=False, on_epoch=True)

    def on_validation_epoch_end(self):
        self.history.append(self.agreement.compute().item())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


# %%
# Higher is better, hence ``mode="max"``.
with tempfile.TemporaryDirectory() as folder:
    keep = ModelCheckpoint(folder, monitor="val_agreement", mode="max", save_top_k=1)
    stop = EarlyStopping("val_agreement", mode="max", patience=5)
    module = Digits()
    trainer = Trainer(
        max_epochs=60,
        callbacks=[keep, stop],
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(module, train, pairs)
    best = torch.load(keep.best_model_path, weights_only=True)

print(
    f"stopped after epoch {trainer.current_epoch}, kept epoch {best['epoch'] + 1} at {keep.best_model_score:.3f} nats"
)

# %%
# The kept weights are those of the epoch with the highest agreement.
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
epochs = range(1, len(module.history) + 1)
ax.plot(epochs, module.history, color="#1f6f8b")
ax.plot(best["epoch"] + 1, keep.best_model_score, "o", color="#c2500e", label="kept")
ax.set(
    xlabel="epoch",
    ylabel="agreement (nats)",
    title="Agreement of noisy with clean digits, beyond collapse",
)
ax.legend(frameon=False)
plt.show()
