# Makes the public dataset that the own tests of the package solvebio look for. The records are made up.

test_that("the public dataset", {
  vault <- Vault.get_or_create_by_full_path("public")
  Vault.update(vault$id, is_public = TRUE)
  path <- paste0(vault$full_path, ":/ClinVar/5.1.0-20200720/Variants-GRCH38")
  dataset <- Dataset.get_or_create_by_full_path(path)
  records <- lapply(1:3, function(n) list(variant = paste0("GRCH38-1-", n, "-", n, "-A"), disease = "none", allele = "A"))
  task <- DatasetImport.create(dataset_id = dataset$id, data_records = records)
  while (DatasetImport.retrieve(task$id)$status %in% c("queued", "running")) Sys.sleep(0.1)
  expect_equal(Dataset.count(dataset$id), 3)
})
